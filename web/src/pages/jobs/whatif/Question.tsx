// The question: sliders and fields, each a parameter of the URL.
import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import type { WhatIfSide } from "../../../generated/types";
import { Choice } from "../../../parts/Analysis";
import { Field } from "../../../parts/Field";
import { useSearch } from "../../../state";
import {
  ALL_TYPES,
  DATA,
  DISKS,
  machinesOf,
  NETWORKS,
  plainSteps,
  type Step,
  settingsOf,
  sizeSteps,
  withValue,
} from "./steps";
import "./whatif.css";

const PAUSE_MS = 120;
const USUAL_MACHINES = 8;
const FIELDS = ["type", "from", "price", "settings", "deadline", "spot"] as const;
const OBJECTIVES = [
  ["cost", "lowest cost"],
  ["time", "shortest time"],
] as const;

interface SliderOf {
  label: string;
  steps: readonly Step[];
  value: string | null;
  put: (value: string | null) => void;
}

/** A slider; its value is put when it has rested, so that not each place on the way is asked. */
function Slider({ label, steps: own, value, put }: SliderOf) {
  const id = useId();
  const steps = withValue(own, value);
  const now = steps.findIndex((step) => step.value === value);
  const [moved, setMoved] = useState<number | null>(null);
  const at = moved ?? now;
  useEffect(() => {
    if (moved === null) return;
    const wait = setTimeout(() => {
      setMoved(null);
      if (moved !== now) put(steps[moved]?.value ?? null);
    }, PAUSE_MS);
    return () => clearTimeout(wait);
  });
  const words = steps[at]?.words ?? "";
  return (
    <div className="field slider">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={0}
        max={steps.length - 1}
        value={at}
        aria-valuetext={words}
        onChange={({ target }) => setMoved(Number(target.value))}
      />
      <output htmlFor={id}>{words}</output>
    </div>
  );
}

/** Fields of free text; submitting puts them into the URL. */
function Texts(): ReactNode {
  const [search, edit] = useSearch();
  const machines = machinesOf(search.get("on"));
  const [texts, setTexts] = useState({
    type: machines?.type ?? search.get("on") ?? "",
    from: search.get("from") ?? "",
    price: search.get("usd_per_node_hour") ?? "",
    settings: search.getAll("set").join(" "),
    deadline: search.get("deadline") ?? "",
    spot: search.get("spot") ?? "",
  });
  const set = (name: (typeof FIELDS)[number]) => (value: string) =>
    setTexts((before) => ({ ...before, [name]: value }));
  const ask = (event: FormEvent) => {
    event.preventDefault();
    const type = texts.type.trim();
    edit((next) => {
      const put = (name: string, value: string) => {
        if (value) next.set(name, value);
        else next.delete(name);
      };
      const nodes = machines?.nodes ?? USUAL_MACHINES;
      // As many executors run on each machine as fit.
      if (type && !machines) next.delete("executors");
      const bare = type === ALL_TYPES || type.includes(":");
      put("on", type && !bare ? `${type}:${nodes}` : type);
      put("deadline", texts.deadline.trim());
      put("spot", type === ALL_TYPES ? "" : texts.spot.trim());
      put("from", texts.from.trim());
      put("usd_per_node_hour", texts.price.trim());
      next.delete("set");
      for (const setting of settingsOf(texts.settings)) next.append("set", setting);
    });
  };
  return (
    <form className="whatif-texts" onSubmit={ask}>
      <Field
        label="Machine type (optional)"
        value={texts.type}
        onChange={set("type")}
        placeholder="i4i.4xlarge"
      />
      {search.get("on") === ALL_TYPES ? (
        <Field
          label="Deadline (optional)"
          value={texts.deadline}
          onChange={set("deadline")}
          placeholder="30min"
        />
      ) : (
        <Field
          label="Losses of a spot machine (optional)"
          value={texts.spot}
          onChange={set("spot")}
          placeholder="0.05/h, or catalog"
        />
      )}
      <Field
        label="Today's machine type (optional)"
        value={texts.from}
        onChange={set("from")}
        placeholder="i4i.2xlarge"
      />
      <Field
        label="Price per machine and hour, US$ (optional)"
        type="number"
        min={0}
        step="any"
        value={texts.price}
        onChange={set("price")}
        placeholder="the catalog's"
      />
      <Field
        label="Spark settings (optional)"
        value={texts.settings}
        onChange={set("settings")}
        placeholder="spark.sql.shuffle.partitions=400"
      />
      <button type="submit" className="main">
        Apply
      </button>
    </form>
  );
}

const PARAMETERS = ["on", "from", "usd_per_node_hour", "set", "deadline", "spot"];

const rankAll = (next: URLSearchParams) => {
  next.delete("executors");
  next.delete("spot");
  next.set("on", ALL_TYPES);
};

/** `today` gives the recorded values; it is unknown until a first answer. */
export function Question({ today }: { today: WhatIfSide | undefined }) {
  const [search, edit] = useSearch();
  const put = (name: string) => (value: string | null) =>
    edit(
      (next) => {
        if (value === null) next.delete(name);
        else next.set(name, value);
      },
      { replace: true },
    );
  const machines = machinesOf(search.get("on"));
  const ranks = search.get("on") === ALL_TYPES;
  const several = search.getAll("on").length > 1 || search.get("executors")?.includes("..");
  return (
    <div className="card whatif-question">
      {!several && (
        <div className="whatif-sliders">
          {machines && (
            <Slider
              label="Machines"
              steps={plainSteps(USUAL_MACHINES)}
              value={String(machines.nodes)}
              put={(value) => put("on")(`${machines.type}:${value ?? 1}`)}
            />
          )}
          {((!machines && !ranks) || search.has("executors")) && (
            <Slider
              label="Executors"
              steps={sizeSteps(today?.prediction.executors)}
              value={search.get("executors")}
              put={put("executors")}
            />
          )}
          <Slider
            label="Cores per executor"
            steps={sizeSteps(today?.cores_per_executor)}
            value={search.get("cores_per_executor")}
            put={put("cores_per_executor")}
          />
          <Slider label="Data" steps={DATA} value={search.get("data")} put={put("data")} />
          <Slider
            label="Disks of each host"
            steps={DISKS}
            value={search.get("disk")}
            put={put("disk")}
          />
          <Slider
            label="Network of each host"
            steps={NETWORKS}
            value={search.get("network")}
            put={put("network")}
          />
          {ranks && <Choice label="Rank by" param="objective" options={OBJECTIVES} />}
        </div>
      )}
      {/* The way back to an earlier URL must refill the form. */}
      <Texts key={PARAMETERS.map((name) => search.getAll(name)).join()} />
      {!ranks && (
        <button type="button" className="quiet" onClick={() => edit(rankAll)}>
          Rank all machine types for this job
        </button>
      )}
    </div>
  );
}
