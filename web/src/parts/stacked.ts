/** Columns from which on a narrow screen shows a row's cells below each other, each with its name. */
const STACKED = 5;

/** The class of a table with so many columns. */
export const stacked = (columns: number) => (columns < STACKED ? undefined : "stacks");
