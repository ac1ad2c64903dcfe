// A link of a host in words.
import type { Link } from "../../../generated/types";
import { lineRate } from "../../../units";

/** `data: 10.0.0.1, 4 Gbit/s (one flow 1 Gbit/s)` */
export function linkText(
  network: string,
  { address, bytes_per_s, flow_bytes_per_s }: Link,
): string {
  const rate = bytes_per_s === null ? "" : `, ${lineRate(bytes_per_s)}`;
  const flow = flow_bytes_per_s === null ? "" : ` (one flow ${lineRate(flow_bytes_per_s)})`;
  return `${network}: ${address}${rate}${flow}`;
}
