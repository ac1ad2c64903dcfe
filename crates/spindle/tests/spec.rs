//! Descriptions of disks, and images, that are refused.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spindle::image::Image;
use spindle::spec::check_names;
use spindle::{CODES, DiskSpec, SpindleError};

fn hdd(changes: &Value) -> Value {
    let mut disk = json!({
        "name": "d1", "image": "/d1.img", "size_bytes": 1 << 30,
        "mechanism": {
            "kind": "hdd", "rate_bytes_per_s": 1e8, "seek_average_ms": 8.5, "revolution_ms": 8.33,
        },
    });
    merge(&mut disk, changes);
    disk
}

fn ssd(changes: &Value) -> Value {
    let mut disk = json!({
        "name": "d1", "image": "/d1.img", "size_bytes": 1 << 30,
        "mechanism": {"kind": "ssd", "rate_bytes_per_s": 1e8, "iops": 1000},
    });
    merge(&mut disk, changes);
    disk
}

fn merge(into: &mut Value, changes: &Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, value) => *into = value.clone(),
    }
}

fn parse(disk: &Value) -> Result<DiskSpec, SpindleError> {
    DiskSpec::from_json(&disk.to_string())
}

#[test]
fn a_disk_needs_few_words() {
    for disk in [hdd(&json!({})), ssd(&json!({}))] {
        let spec = parse(&disk).unwrap();
        assert_eq!(parse(&serde_json::to_value(&spec).unwrap()).unwrap(), spec);
    }
}

#[test]
fn impossible_values_are_refused_by_field() {
    let of_mechanism = |field: &str, value: Value| json!({"mechanism": {field: value}});
    let cases = [
        (hdd(&json!({"name": ""})), "name"),
        (hdd(&json!({"name": "a/b"})), "name"),
        (hdd(&json!({"name": ".."})), "name"),
        (hdd(&json!({"name": "d.stats"})), "name"),
        (hdd(&json!({"size_bytes": 0})), "size_bytes"),
        (hdd(&json!({"size_bytes": 1000})), "size_bytes"),
        (hdd(&of_mechanism("rate_bytes_per_s", 0.into())), "rate_bytes_per_s"),
        (hdd(&of_mechanism("rate_bytes_per_s", (-1).into())), "rate_bytes_per_s"),
        (hdd(&of_mechanism("inner_rate_bytes_per_s", 0.into())), "inner_rate_bytes_per_s"),
        (hdd(&of_mechanism("inner_rate_bytes_per_s", json!(2e8))), "inner_rate_bytes_per_s"),
        (hdd(&of_mechanism("revolution_ms", 0.into())), "revolution_ms"),
        (hdd(&of_mechanism("revolution_ms", json!(1e9))), "revolution_ms"),
        (hdd(&of_mechanism("seek_average_ms", (-1).into())), "seek_average_ms"),
        (hdd(&of_mechanism("seek_track_ms", 9.into())), "seek_average_ms"),
        (hdd(&of_mechanism("seek_full_ms", 9.into())), "seek_average_ms"),
        (hdd(&of_mechanism("queue_depth", 0.into())), "queue_depth"),
        (ssd(&of_mechanism("rate_bytes_per_s", 0.into())), "rate_bytes_per_s"),
        (ssd(&of_mechanism("iops", 0.into())), "iops"),
        (ssd(&of_mechanism("channels", 0.into())), "channels"),
    ];
    for (disk, expected) in cases {
        match parse(&disk) {
            Err(SpindleError::Setting { field, .. }) => assert_eq!(field, expected, "{disk}"),
            other => panic!("{disk}: {other:?}"),
        }
    }
}

#[test]
fn what_is_no_disk_is_refused() {
    let cases = [
        json!([]),
        hdd(&json!({"colour": "blue"})),
        hdd(&json!({"mechanism": {"spindles": 2}})),
        hdd(&json!({"mechanism": {"kind": "tape"}})),
        hdd(&json!({"size_bytes": "1 GB"})),
        json!({"name": "d1"}),
    ];
    for disk in cases {
        let error = parse(&disk).unwrap_err();
        assert_eq!(error.code(), "VEN-SPINDLE-SPEC", "{disk}");
        assert!(CODES.iter().any(|(code, _)| *code == error.code()));
    }
    let twice = [parse(&hdd(&json!({}))).unwrap(), parse(&ssd(&json!({}))).unwrap()];
    assert_eq!(check_names(&twice).unwrap_err().code(), "VEN-SPINDLE-NAME");
}

fn at(image: &Path) -> DiskSpec {
    parse(&hdd(&json!({"image": image, "size_bytes": 1 << 20}))).expect("a disk")
}

#[test]
fn an_image_is_sparse_and_of_one_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d1.img");
    let image = Image::open(&at(&path)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 1 << 20);
    assert_eq!(image.allocated_bytes().unwrap(), 0);
    let link = folder.path().join("link.img");
    fs::hard_link(&path, &link).unwrap();
    assert_eq!(Image::open(&at(&link)).unwrap_err().code(), "VEN-SPINDLE-IMAGE-SHARED");
    drop(image);
    fs::write(&path, vec![1; 4096]).unwrap();
    assert_eq!(Image::open(&at(&path)).unwrap_err().code(), "VEN-SPINDLE-IMAGE-SIZE");
    let nowhere = folder.path().join("none").join("d1.img");
    assert_eq!(Image::open(&at(&nowhere)).unwrap_err().code(), "VEN-SPINDLE-IMAGE");
    assert_eq!(Image::open(&at(folder.path())).unwrap_err().code(), "VEN-SPINDLE-IMAGE");
}

#[test]
fn a_cut_image_fails_instead_of_giving_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d1.img");
    let image = Image::open(&at(&path)).unwrap();
    image.write(&[7; 4096], 8192).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(4096).unwrap();
    assert!(image.read(&mut [0; 4096], 8192).is_err());
    assert!(image.write(&[7; 4096], 16384).is_err());
    assert!(image.discard(0, 4096).is_err());
}

#[test]
fn a_discarded_range_gives_its_space_back() {
    let folder = tempfile::tempdir().unwrap();
    let image = Image::open(&at(&folder.path().join("d1.img"))).unwrap();
    image.write(&vec![7; 1 << 20], 0).unwrap();
    image.discard(0, 1 << 19).unwrap();
    let mut content = vec![1; 1 << 20];
    image.read(&mut content, 0).unwrap();
    assert!(content[..1 << 19].iter().all(|byte| *byte == 0));
    assert!(content[1 << 19..].iter().all(|byte| *byte == 7));
    assert!(image.allocated_bytes().unwrap() <= 1 << 19);
}
