//! `venturi-agent spindle`: image files served as disks that are as slow as real ones.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hostmon::process_cpu_s;
use serde_json::{Map, Value, json};
use spindle::{DiskSpec, Server, SpindleError, predict};

use crate::events::{EXIT_INTERRUPTED, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::Stop;

/// Interval between checks whether the disks were unmounted.
const LOOK: Duration = Duration::from_millis(200);
/// Depths with a predicted rate in the `ready` event.
const DEPTHS: [usize; 4] = [1, 4, 8, 32];
const KIB: u64 = 1 << 10;

/// Arguments of `venturi-agent spindle`.
///
/// Serves until SIGTERM or SIGHUP (exit 0), SIGINT (exit 130), or until the folder is unmounted
/// (exit 0). If it is killed, `umount -l FOLDER` removes the mount.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Empty folder in which the disks appear
    #[arg(long, value_name = "FOLDER")]
    mount: PathBuf,
    /// A disk, as JSON (`docs/method/disk-model.md` has its fields)
    #[arg(long = "disk", value_name = "JSON", required = true)]
    disks: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let stop = Stop::on_signals()?;
    let disks: Result<Vec<_>, _> =
        args.disks.iter().map(|text| DiskSpec::from_json(text)).collect();
    let disks = disks.map_err(|error| failure(&error))?;
    // Both are inherited by the threads. Refusals cost precision on a busy host, and under want of
    // memory the certainty that no one waits for himself.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    let _ = rustix::process::setpriority_process(None, -20);
    let server = Server::mount(&args.mount, &disks).map_err(|error| failure(&error))?;
    let ready: Vec<_> = disks.iter().map(|disk| described(args, disk)).collect();
    events.emit("ready", &json!({"mount": args.mount, "disks": ready}));
    while server.is_mounted() && !stop.wait(Instant::now() + LOOK, None) {}
    let ended = server.end();
    if ended.busy {
        events.warning(
            "VEN-SPINDLE-BUSY",
            "a disk was still in use; whatever uses it gets input/output errors from now on",
        );
    }
    events.result(&json!({
        "disks": ended.disks,
        "cpu_s": process_cpu_s(),
        "elapsed_s": events.elapsed_s(),
    }));
    Ok(if stop.interrupted() { EXIT_INTERRUPTED } else { EXIT_OK })
}

fn described(args: &Args, disk: &DiskSpec) -> Value {
    let path = args.mount.join(&disk.name);
    let random: Map<String, Value> = DEPTHS
        .iter()
        .map(|&depth| (depth.to_string(), predict::random_iops(disk, 4 * KIB, depth).into()))
        .collect();
    json!({
        "name": disk.name,
        "path": path,
        "stats": format!("{}{}", path.display(), spindle::spec::STATS),
        "size_bytes": disk.size_bytes,
        "predicted": {
            "sequential_bytes_per_s": predict::sequential_bytes_per_s(disk, KIB * KIB, 4),
            "random_4_kib_iops": random,
        },
    })
}

fn failure(error: &SpindleError) -> Failure {
    let place = match error {
        SpindleError::Spec { text, .. } => json!({"disk": text}),
        SpindleError::Setting { disk, field, value, .. } => {
            json!({"disk": disk, "field": field, "value": value})
        }
        SpindleError::Name { name } => json!({"disk": name}),
        SpindleError::Image { disk, path, .. }
        | SpindleError::ImageSize { disk, path, .. }
        | SpindleError::ImageShared { disk, path } => json!({"disk": disk, "path": path}),
        SpindleError::Mount { path, .. } => json!({"path": path}),
    };
    Failure {
        code: error.code(),
        message: error.to_string(),
        place,
        hint: error.hint().to_owned(),
        exit: EXIT_USER,
    }
}
