// Archived domains, projects and users: an admin leaves them out of lists and rankings, while weights and ranks stay as they are.
import { graphql } from "../gql.ts";
import { useQuery } from "./query.ts";
import { isUser, me } from "./session.ts";

const ARCHIVED = graphql(`
  query Archived {
    domains(archived: true, first: 1000) { edges { node { name } } }
    projects(archived: true, first: 1000) { edges { node { project_id } } }
    users(archived: true, first: 1000) { edges { node { user_uuid } } }
  }
`);

export interface Who {
  domain_name?: string | null | undefined;
  project_id?: string | null | undefined;
  user_uuid?: string | null | undefined;
}

/** True for a domain, project or user that is archived itself, or whose parent is. Only keys that read all groups know it. */
export function useArchived(): (who: Who) => boolean {
  const { data } = useQuery(ARCHIVED, isUser() || me.value?.resource_groups ? null : {}, false);
  if (!data) return () => false;
  const domains = new Set(data.domains.edges.map(({ node }) => node.name));
  const projects = new Set(data.projects.edges.map(({ node }) => node.project_id));
  const users = new Set(data.users.edges.map(({ node }) => node.user_uuid));
  return ({ domain_name, project_id, user_uuid }) => domains.has(domain_name ?? "") || projects.has(project_id ?? "") || users.has(user_uuid ?? "");
}
