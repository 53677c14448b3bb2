// Every page there is, in the order of the menu. A new page is one line here and one folder beside it.
import type { ComponentType } from "preact";
import type { PageProps } from "../App.tsx";

export interface PageDef {
  /** The part of the address. */
  id: string;
  name: string;
  /** The heading in the menu that it stands under; without one it is reached from other pages. */
  section?: string;
  /** True for the roles that have the page. */
  for: (role: string) => boolean;
  /** True for the roles that arrive here; others arrive at the first page that they have. */
  home?: (role: string) => boolean;
  /** True for a page that shows something of a server without any group. */
  ofServer?: boolean;
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

const readers = (role: string): boolean => role !== "user";
const admins = (role: string): boolean => role === "admin";
const everyone = (): boolean => true;

export const PAGES: PageDef[] = [
  { id: "mine", name: "My rank", section: "You", for: (role) => role === "user", load: () => import("./mine/index.tsx") },
  { id: "overview", name: "Overview", section: "Now", for: readers, load: () => import("./overview/index.tsx") },
  { id: "shares", name: "Shares", section: "Now", for: readers, load: () => import("./shares/index.tsx") },
  { id: "explain", name: "Explain", section: "Now", for: everyone, home: (role) => role === "user", load: () => import("./explain/index.tsx") },
  { id: "entity", name: "Entity", for: everyone, load: () => import("./entity/index.tsx") },
  { id: "queues", name: "Queues", section: "Now", for: readers, load: () => import("./queues/index.tsx") },
  { id: "pending", name: "Pending", section: "Now", for: everyone, load: () => import("./pending/index.tsx") },
  { id: "fairness", name: "Fairness", section: "History", for: everyone, load: () => import("./fairness/index.tsx") },
  { id: "reports", name: "Reports", section: "History", for: readers, load: () => import("./reports/index.tsx") },
  { id: "whatif", name: "What if", section: "Manage", for: readers, load: () => import("./whatif/index.tsx") },
  { id: "settings", name: "Settings", section: "Manage", for: readers, load: () => import("./settings/index.tsx") },
  { id: "connectors", name: "Connectors", section: "Manage", for: readers, load: () => import("./connectors/index.tsx") },
  { id: "jobs", name: "Jobs", section: "Manage", for: readers, load: () => import("./jobs/index.tsx") },
  { id: "audit", name: "Audit", section: "Manage", for: admins, ofServer: true, load: () => import("./audit/index.tsx") },
  { id: "keys", name: "Keys", section: "Manage", for: admins, ofServer: true, load: () => import("./keys/index.tsx") },
];
