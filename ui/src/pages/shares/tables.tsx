// The tree and the lists of shares.
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import type { TadaDocumentNode } from "../../gql.ts";
import { useQuery } from "../../lib/query.ts";
import { groupPath, memberId, useParams } from "../../lib/route.ts";
import { count, factor, num, percent } from "../../lib/numbers.ts";
import { Button } from "../../ui/Basics.tsx";
import { ShareBar } from "../../ui/Bars.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { Empty, Failure, Loading } from "../../ui/States.tsx";
import { weightFault, type Edit, type Edits } from "./edits.ts";
import { domainRow, DOMAINS, projectRow, PROJECTS, userRow, USERS, type Row, type Tier } from "./query.ts";

export interface Controls {
  edits: Edits;
  /** Without it, weights are shown only. */
  edit?: ((row: Edit["row"], text: string) => void) | undefined;
}

const PAGE = 100;
const ORDERS: Record<string, string> = { name: "NAME", factor: "FAIR_SHARE_FACTOR", usage: "EFFECTIVE_USAGE", weight: "EFFECTIVE_WEIGHT", rank: "RANK" };

interface Wanted {
  group: string;
  tier: Tier;
  /** A condition beside the search. */
  where?: Record<string, unknown>;
  first?: number;
  offset?: number;
  search?: string;
  active?: boolean;
  sort?: string;
  skip?: boolean;
}

/** Rows of one tier as the address asks for them. */
function useRows({ group, tier, where = {}, first = PAGE, offset = 0, search = "", active = false, sort = "rank", skip = false }: Wanted) {
  const nameField = { domain: "domain_name", project: "project_name", user: "user_name" }[tier];
  const filter = { ...where, ...(search ? { [nameField]: { i_contains: search } } : {}), ...(active ? { active: true } : {}) };
  const [field, direction] = sort.startsWith("-") ? [sort.slice(1), "DESC"] : [sort, "ASC"];
  const order = { field: ORDERS[field] ?? "RANK", direction };
  const variables = skip ? null : { group, filter, order, first, offset };
  const doc = { domain: DOMAINS, project: PROJECTS, user: USERS }[tier] as unknown as TadaDocumentNode<Record<string, { count: number; edges: { node: never }[] }>, unknown>;
  const answer = useQuery(doc, variables);
  const list = answer.data?.[`${tier}_fair_shares`];
  const make = { domain: domainRow, project: projectRow, user: userRow }[tier] as (node: never) => Row;
  return { ...answer, count: list?.count ?? 0, rows: list?.edges.map((edge) => make(edge.node)) };
}

/** What all domains have used together: the whole that bars are parts of. */
function useWhole(group: string): number {
  const { rows } = useRows({ group, tier: "domain", first: 1000 });
  return (rows ?? []).reduce((sum, row) => sum + num(row.usage), 0);
}

function Head({ sortable }: { sortable: boolean }) {
  const [params, change] = useParams();
  const sort = params.get("sort") ?? "rank";
  const head = (name: string, field: string, kind: string, meaning: string) => {
    const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : undefined;
    return (
      <th scope="col" class={kind} title={meaning} aria-sort={sortable ? (direction ?? "none") : undefined}>
        {sortable ? (
          <button type="button" class="sort" onClick={() => change({ sort: sort === field ? `-${field}` : field, page: null })}>
            {name} {direction === "ascending" ? "↑" : direction === "descending" ? "↓" : ""}
          </button>
        ) : (
          name
        )}
      </th>
    );
  };
  return (
    <thead>
      <tr>
        {head("Name", "name", "name", "As the scheduler calls it")}
        {head("Rank", "rank", "number", "Domains and users in the group, projects in their domain")}
        {head("Factor", "factor", "number", "2 to the power of −(usage ÷ weight), between 0 and 1; higher goes first")}
        {head("Used, entitled", "usage", "", "Decayed usage as a part of what all domains have used together, beside what weights entitle to among those that are active")}
        {head("Weight", "weight", "number", "What an admin has set, else the group's default")}
      </tr>
    </thead>
  );
}

const entityPath = (group: string, row: Row): string => groupPath(group, "entity", row.tier, row.tier === "user" ? memberId({ user: row.id, project: row.project ?? "" }) : row.id);

function WeightCell({ row, edits, edit }: Controls & { row: Row }) {
  const edited = edits.get(row.key);
  const where = row.configured === null ? "the group's default" : "set by an admin";
  if (!edit) {
    return (
      <td class="number" title={where}>
        {row.weight} {row.configured === null && <span class="muted small">default</span>}
      </td>
    );
  }
  const text = edited ? (edited.weight ?? "") : (row.configured ?? "");
  const fault = weightFault(text);
  return (
    <td class="number">
      <input
        class={`input narrow ${edited ? "changed" : ""}`}
        inputMode="decimal"
        aria-label={`Weight of ${row.tier} ${row.name}`}
        aria-invalid={fault ? "true" : undefined}
        title={fault ?? where}
        placeholder={`${row.configured === null ? row.weight : "default"}`}
        value={text}
        onInput={(event) => edit(row, event.currentTarget.value)}
      />
    </td>
  );
}

function Cells({ row, whole, edits, edit }: Controls & { row: Row; whole: number }) {
  const used = whole > 0 ? num(row.usage) / whole : 0;
  // Bars of one tier have one scale, and the smaller tiers a finer one.
  const widest = { domain: 1, project: 0.5, user: 0.25 }[row.tier];
  return (
    <>
      <td class="number">{row.rank ?? "–"}</td>
      <td class="number" title={row.factor}>
        {factor(row.factor)}
      </td>
      <td title={`decayed usage ${row.usage} of the look-back's capacity`}>
        <div class="barlabel">
          <span>{percent(used)}</span>
          <span class="muted">of {percent(num(row.entitled))}</span>
        </div>
        <ShareBar used={used} entitled={num(row.entitled)} of={widest} label={`${row.name} has used ${percent(used)} of what the group used, and is entitled to ${percent(num(row.entitled))}`} />
      </td>
      <WeightCell row={row} edits={edits} edit={edit} />
    </>
  );
}

export function Tree({ group, edits, edit }: Controls & { group: string }) {
  const [params] = useParams();
  const search = params.get("q") ?? "";
  const active = params.get("active") === "1";
  const sort = params.get("sort") ?? "rank";
  const whole = useWhole(group);
  const domains = useRows({ group, tier: "domain", active, sort, first: 1000 });
  if (search) return <FlatTable group={group} tier="user" edits={edits} edit={edit} />;
  if (domains.error) return <div class="pad"><Failure error={domains.error} retry={domains.reload} /></div>;
  if (!domains.rows) return <div class="pad"><Loading /></div>;
  if (domains.rows.length === 0) return <Nothing />;
  return (
    <Scroll>
      <table class="data">
        <caption class="visually-hidden">Domains, their projects, their users</caption>
        <Head sortable />
        <tbody>
          {domains.rows.map((row) => (
            <Branch key={row.key} group={group} row={row} whole={whole} level={0} edits={edits} edit={edit} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Nothing() {
  return <Empty title="Nobody is here yet">Domains, projects and users appear with their first kernel, or when a weight is set for them.</Empty>;
}

/** A row with what is below it, once it is opened. What is open is part of the address. */
function Branch({ group, row, whole, level, edits, edit }: Controls & { group: string; row: Row; whole: number; level: number }) {
  const [params, change] = useParams();
  const [limit, setLimit] = useState(PAGE);
  const open = (params.get("open") ?? "").split("|").filter(Boolean);
  const isOpen = open.includes(row.key);
  const below: Tier = row.tier === "domain" ? "project" : "user";
  const where = row.tier === "domain" ? { domain_name: { equals: row.id } } : { project_id: { equals: row.id } };
  const active = params.get("active") === "1";
  const children = useRows({ group, tier: below, where, active, sort: params.get("sort") ?? "rank", first: limit, skip: !isOpen || row.tier === "user" });
  const toggle = () => change({ open: (isOpen ? open.filter((key) => key !== row.key) : [...open, row.key]).join("|") });
  return (
    <>
      <tr>
        <th scope="row" class="name">
          <div class="indent" style={{ paddingLeft: `${level * 22}px` }}>
            {row.tier === "user" ? (
              <span style={{ width: "26px" }} />
            ) : (
              <button type="button" class="twig" aria-expanded={isOpen} aria-label={`${isOpen ? "Close" : "Open"} ${row.tier} ${row.name}`} onClick={toggle}>
                {isOpen ? "▾" : "▸"}
              </button>
            )}
            <Link href={entityPath(group, row)}>{row.name}</Link>
          </div>
        </th>
        <Cells row={row} whole={whole} edits={edits} edit={edit} />
      </tr>
      {isOpen && children.rows?.map((child) => <Branch key={child.key} group={group} row={child} whole={whole} level={level + 1} edits={edits} edit={edit} />)}
      {isOpen && (children.error || !children.rows || children.count > limit) && (
        <tr>
          <td colSpan={5}>
            {children.error ? (
              <Failure error={children.error} retry={children.reload} />
            ) : children.rows ? (
              <Button small onClick={() => setLimit(Math.min(1000, limit + PAGE))}>
                Show more of {count(children.count)}
              </Button>
            ) : (
              <span class="muted">Loading…</span>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

export function FlatTable({ group, tier, edits, edit }: Controls & { group: string; tier: Tier }) {
  const [params, change] = useParams();
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const whole = useWhole(group);
  const wanted = { group, tier, search: params.get("q") ?? "", active: params.get("active") === "1", sort: params.get("sort") ?? "rank", offset: (page - 1) * PAGE };
  const list = useRows(wanted);
  if (list.error) return <div class="pad"><Failure error={list.error} retry={list.reload} /></div>;
  if (!list.rows) return <div class="pad"><Loading /></div>;
  if (list.count === 0) return wanted.search ? <Empty title="Nobody is called like this">Names are searched as a part, in any case.</Empty> : <Nothing />;
  return (
    <>
      <Scroll busy={list.isLoading}>
        <table class="data">
          <caption class="visually-hidden">{tier}s of the group</caption>
          <Head sortable />
          <tbody>
            {list.rows.map((row) => (
              <tr key={row.key}>
                <th scope="row" class="name">
                  <Link href={entityPath(group, row)}>{row.name}</Link>
                  {row.within && <div class="muted small">{row.within}</div>}
                </th>
                <Cells row={row} whole={whole} edits={edits} edit={edit} />
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pager page={page} size={PAGE} count={list.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
    </>
  );
}
