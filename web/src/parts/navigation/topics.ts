// The five topics with their pages: the navigation and the start page are made of them.
import { PAGES, TOPICS } from "../../generated/pages";

export type PageInfo = (typeof PAGES)[keyof typeof PAGES];

/** Each topic with its question and its pages, in their order. */
export const BY_TOPIC = Object.entries(TOPICS).map(([topic, { name, question }]) => ({
  topic,
  name,
  question,
  pages: Object.values<PageInfo>(PAGES).filter((page) => page.topic === topic),
}));

/** Whether the page at `to`, or one below it, is open. */
export const isOpen = (to: string, path: string) => path === to || path.startsWith(`${to}/`);
