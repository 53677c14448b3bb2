// The entity of a page, as the queries of its history name it.
import { readMember } from "../../lib/route.ts";

export type Tier = "domain" | "project" | "user";

/** The arguments that find the history of an entity. */
export function named(tier: string, id: string): { tier: "DOMAIN" | "PROJECT" | "USER"; domain: string | null; project: string | null; user: string | null } {
  if (tier === "domain") return { tier: "DOMAIN", domain: id, project: null, user: null };
  if (tier === "project") return { tier: "PROJECT", domain: null, project: id, user: null };
  const member = readMember(id);
  return { tier: "USER", domain: null, project: member?.project ?? null, user: member?.user ?? null };
}

interface Placed {
  domain_name?: string;
  project_id?: string;
  user_uuid?: string;
}

/** The names in the audit log of the weights that divide an entity's usage; a tier that it has not is left to the domain. */
export function targets({ domain_name, project_id, user_uuid }: Placed): { domain: string; project: string; user: string } {
  const domain = `domain:${domain_name ?? ""}`;
  const project = project_id ? `project:${project_id}` : domain;
  return { domain, project, user: user_uuid && project_id ? `user:${user_uuid}/${project_id}` : project };
}
