// The groups that the others of their sets are compared with.

import type { RankedGroup, RankingData } from "../../../generated/types";

/** Whether the others of its set are compared with it; never of a group alone in its set. */
export const isReference = ({ key, against, ratio }: RankedGroup) =>
  ratio !== null &&
  against !== null &&
  key.map(String).join("\0") === against.map(String).join("\0");

/** The reference of each set, by name. */
export function references({ groups }: Pick<RankingData, "groups">): string {
  const named = groups.filter(isReference);
  return named
    .map(({ name, set }) => (named.length > 1 ? `${name} in set ${set}` : name))
    .join(", ");
}
