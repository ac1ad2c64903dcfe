// The sections of a trial's page, in their order: what its list of links names.
import type { Trial } from "../../../generated/record";
import type { JobData, TrialDetail } from "../../../generated/types";
import type { SectionList } from "../../../parts/Sections";
import { EXECUTORS_ID } from "./Findings";
import { TASKS_ID } from "./Tasks";

type Listed = readonly [id: string, name: string, shown: boolean];

const named = (sections: readonly Listed[]): SectionList =>
  sections.filter(([, , shown]) => shown).map(([id, name]) => [id, name] as const);

/** The sections of a job, below its summary. */
export const jobSections = (job: JobData): SectionList =>
  job.missing_reason !== null || job.dropped !== null
    ? []
    : named([
        ["stages", "Stages", job.stages.length > 0],
        [TASKS_ID, "Tasks", true],
        ["tiers", "Files by tier", job.tiers.length > 0],
        ["queries", "SQL queries", job.queries.length > 0],
        ["cached-data", "Cached data", job.caches.length > 0],
        ["streams", "Streaming queries", job.streams.length > 0],
        ["skew", "Skew", true],
        ["wasted", "Wasted work", job.losses.length + job.lost_executors.length > 0],
        [EXECUTORS_ID, "Executors", job.executors.length > 0],
        ["memory", "Memory", job.memory.length > 0],
        ["cores", "Cores", job.cores !== null && job.cores.offered_s > 0],
        ["what-if", "What if", true],
        ["jobs", "Jobs", job.jobs.length > 0],
        ["bounds", "Upper bounds", true],
      ]);

/** All sections of the page; `several`: whether the series of several hosts were kept. */
export const trialSections = (
  { between_hosts: network, disks_of_hosts: disks, has_io: traced }: TrialDetail,
  job: JobData | undefined,
  several: boolean,
): SectionList => [
  ...named([
    ["validity", "Does it count?", true],
    ["between-hosts", "Network between hosts", network !== null],
    ["disks-of-hosts", "Disks by host", disks !== null],
  ]),
  ...(job ? jobSections(job) : []),
  ...named([
    ["hosts-over-time", "Hosts", several],
    ["phases", "Phases and host load", true],
    ["disk-io", "Disk I/O", traced],
    ["siblings", "Repeat group", true],
    ["made-of", "Workload and settings", true],
    ["files", "Files", true],
    ["record", "Raw record", true],
  ]),
];

/** Whether the series of several hosts were kept. */
export const severalWatched = ({ artifacts }: Trial) =>
  artifacts.filter(({ kind }) => kind === "series").length > 1;
