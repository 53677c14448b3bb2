// The tree and the lists of shares.
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { groupPath, memberId, useParams } from "../../lib/route.ts";
import { useArchived, type Who } from "../../lib/archived.ts";
import { FACTOR_FORMULA, count, factor, num, percent } from "../../lib/numbers.ts";
import { weightFault } from "../../lib/quantity.ts";
import { Button } from "../../ui/Basics.tsx";
import { Archived } from "../../ui/Archived.tsx";
import { ShareBar } from "../../ui/Bars.tsx";
import { Pager } from "../../ui/Pager.tsx";
import { Rank } from "../../ui/Rank.tsx";
import { Scroll } from "../../ui/Scroll.tsx";
import { shortDay } from "../../lib/time.ts";
import { Empty, Failure, Loading } from "../../ui/States.tsx";
import type { Edit, Edits } from "./edits.ts";
import type { Row, Tier } from "./query.ts";
import { PAGE, useRows, useWhole } from "./rows.ts";

export interface Controls {
  /** The day that is over; `null`: now. */
  day: string | null;
  edits: Edits;
  /** Without it, weights are shown only. */
  edit?: ((row: Edit["row"], text: string) => void) | undefined;
}

/** The part of all usage that fills a bar. Bars of one tier have one scale, and the smaller tiers a finer one. */
const FULL: Record<Tier, number> = { domain: 1, project: 0.5, user: 0.25 };

const scaleOf = (tiers: Tier[]): string => `of all decayed usage; full bar: ${tiers.map((tier) => (tiers.length > 1 ? `${tier} ${FULL[tier] * 100} %` : `${FULL[tier] * 100} %`)).join(", ")}; » is more`;

function Head({ day, tiers }: { day: string | null; tiers: Tier[] }) {
  const sortable = day === null;
  const [params, change] = useParams();
  const sort = params.get("sort") ?? "rank";
  const head = (name: string, field: string, kind: string, meaning: string, more?: ComponentChildren) => {
    const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : undefined;
    return (
      <th scope="col" class={kind} data-name={name} title={meaning} aria-sort={sortable ? (direction ?? "none") : undefined}>
        {sortable ? (
          <button type="button" class="sort" onClick={() => change({ sort: sort === field ? `-${field}` : field, page: null })}>
            {name} {direction === "ascending" ? "↑" : direction === "descending" ? "↓" : ""}
          </button>
        ) : (
          name
        )}
        {more}
      </th>
    );
  };
  return (
    <thead>
      <tr>
        {head("Name", "name", "name", "As the scheduler calls it")}
        {head("Rank", "rank", "number", "Domains and users in the group, projects in their domain", <div class="phone-only">Factor</div>)}
        {head("Factor", "factor", "number wide-only", `${FACTOR_FORMULA}; between 0 and 1, and higher starts first`)}
        {head("Used, entitled", "usage", "", "Decayed usage as a part of what all domains have used together, beside what weights entitle to among those that are active", <div class="wide-only small muted">{scaleOf(tiers)}</div>)}
        {day ? head("Effective weight", "weight", "number", "The divisor of the usage: for a user the product of the weights of all three tiers") : head("Weight", "weight", "number", "The weight that an admin has set, or the group's default")}
      </tr>
    </thead>
  );
}

const entityPath = (group: string, row: Row): string => groupPath(group, "entity", row.tier, row.tier === "user" ? memberId({ user: row.id, project: row.project ?? "" }) : row.id);

const whoOf = (row: Row): Who => ({ [row.tier === "domain" ? "domain_name" : row.tier === "project" ? "project_id" : "user_uuid"]: row.id, ...(row.project ? { project_id: row.project } : {}) });

function WeightCell({ row, edits, edit }: Omit<Controls, "day"> & { row: Row }) {
  const id = useId();
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
        aria-describedby={fault ? `${id}-fault` : undefined}
        title={where}
        placeholder={`${row.configured === null ? row.weight : "default"}`}
        value={text}
        onInput={(event) => edit(row, event.currentTarget.value)}
      />
      {fault && <div class="bad small wraps" id={`${id}-fault`}>{fault}</div>}
      {row.configured === null && !edited && <div class="muted small">default</div>}
    </td>
  );
}

function Cells({ day, row, whole, edits, edit }: Controls & { row: Row; whole: number }) {
  const used = whole > 0 ? num(row.usage) / whole : 0;
  return (
    <>
      <td class="number" data-value={row.standing.rank}>
        <Rank of={row.standing} among={row.among} />
        <div class="phone-only small muted">{factor(row.factor)}</div>
      </td>
      <td class="number wide-only" title={row.factor}>
        {factor(row.factor)}
      </td>
      <td title={`decayed usage ${row.usage} of the look-back's capacity`}>
        <div class="barlabel">
          <span>{percent(used)},</span>
          <span class="muted"><span class="wide-only">entitled to</span> {percent(num(row.entitled))}</span>
        </div>
        <ShareBar used={used} entitled={num(row.entitled)} of={FULL[row.tier]} label={`${row.name} has used ${percent(used)} of what the group used, and is entitled to ${percent(num(row.entitled))}`} />
      </td>
      {day ? <td class="number">{row.effectiveWeight}</td> : <WeightCell row={row} edits={edits} edit={edit} />}
    </>
  );
}

export function Tree({ group, day, edits, edit }: Controls & { group: string }) {
  const [params] = useParams();
  const search = params.get("q") ?? "";
  const active = params.get("active") === "1";
  const sort = params.get("sort") ?? "rank";
  const isArchived = useArchived();
  const whole = useWhole(group, day);
  const domains = useRows({ group, day, tier: "domain", active, sort, first: MOST });
  if (search) return <FoundEverywhere group={group} day={day} edits={edits} edit={edit} />;
  if (domains.error) return <div class="pad"><Failure error={domains.error} retry={domains.reload} /></div>;
  if (!domains.rows) return <div class="pad"><Loading /></div>;
  if (domains.rows.length === 0) return <Nothing day={day} />;
  return (
    <Scroll>
      <table class="data dense">
        <caption class="visually-hidden">Domains, their projects, their users</caption>
        <Head day={day} tiers={["domain", "project", "user"]} />
        <tbody>
          {domains.rows.map((row) => (
            <Branch key={row.key} group={group} day={day} row={row} whole={whole} level={0} isArchived={isArchived} edits={edits} edit={edit} />
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** The largest number of domains, and of projects, with the searched name above the users. */
const FOUND = 20;

/** In the tree a name may be one of any tier. */
function FoundEverywhere({ group, ...controls }: Controls & { group: string }) {
  const [params] = useParams();
  const of = (tier: Tier) => ({ group, day: controls.day, tier, search: params.get("q") ?? "", active: params.get("active") === "1", first: FOUND });
  const domains = useRows(of("domain"));
  const projects = useRows(of("project"));
  const above = [...(domains.rows ?? []), ...(projects.rows ?? [])];
  const isCut = Math.max(domains.count, projects.count) > FOUND;
  return (
    <>
      {isCut && <p class="pad muted small">The first {FOUND} domains and projects of this name; the tabs “Domains” and “Projects” have all of them.</p>}
      <FlatTable group={group} tier="user" above={above} {...controls} />
    </>
  );
}

function Nothing({ day }: { day: string | null }) {
  if (day !== null) return <Empty title={`Nothing is kept of ${shortDay(day)}`}>The first run of a day writes what the day before it left. Older days than the server keeps are gone.</Empty>;
  return <Empty title="Nothing is here yet">Domains, projects and users appear with their first kernel in this group.</Empty>;
}

/** The largest number of rows of an answer. */
const MOST = 1000;

/** A row with what is below it, once it is opened. What is open is part of the address. */
function Branch({ group, day, row, whole, level, isArchived, edits, edit }: Controls & { group: string; row: Row; whole: number; level: number; isArchived: (who: Who) => boolean }) {
  const [params, change] = useParams();
  const [limit, setLimit] = useState(PAGE);
  const open = (params.get("open") ?? "").split("|").filter(Boolean);
  const isOpen = open.includes(row.key);
  const below: Tier = row.tier === "domain" ? "project" : "user";
  const inside = row.tier === "domain" ? { domain: row.id } : { project: row.id };
  const active = params.get("active") === "1";
  const children = useRows({ group, day, tier: below, inside, active, sort: params.get("sort") ?? "rank", first: limit, skip: !isOpen || row.tier === "user" });
  const toggle = () => change({ open: (isOpen ? open.filter((key) => key !== row.key) : [...open, row.key]).join("|") });
  return (
    <>
      <tr>
        <th scope="row" class="name">
          <div class="indent" style={{ "--level": level }}>
            {row.tier === "user" ? (
              <span class="leaf" />
            ) : (
              <button type="button" class="twig" aria-expanded={isOpen} aria-label={`${isOpen ? "Close" : "Open"} ${row.tier} ${row.name}`} onClick={toggle}>
                {isOpen ? "▾" : "▸"}
              </button>
            )}
            <span><Link href={entityPath(group, row)}>{row.name}</Link><Archived is={isArchived(whoOf(row))} /></span>
          </div>
        </th>
        <Cells day={day} row={row} whole={whole} edits={edits} edit={edit} />
      </tr>
      {isOpen && children.rows?.map((child) => <Branch key={child.key} group={group} day={day} row={child} whole={whole} level={level + 1} isArchived={isArchived} edits={edits} edit={edit} />)}
      {isOpen && (children.error || !children.rows || children.count > limit) && (
        <tr>
          <td colSpan={5}>
            {children.error ? (
              <Failure error={children.error} retry={children.reload} />
            ) : children.rows ? (
              limit < MOST ? (
                <Button small onClick={() => setLimit(Math.min(MOST, limit + PAGE))}>
                  Show more of {count(children.count)}
                </Button>
              ) : (
                <span class="muted">
                  The first {count(MOST)} of {count(children.count)}. <Link href={`${groupPath(group, "shares")}?view=${below}`}>The list of {below}s</Link> has all of them, and a search by name.
                </span>
              )
            ) : (
              <span class="muted">Loading…</span>
            )}
          </td>
        </tr>
      )}
    </>
  );
}

interface FlatProps extends Controls {
  group: string;
  tier: Tier;
  /** Rows of other tiers that come first. */
  above?: Row[];
}

const NONE: Row[] = [];

export function FlatTable({ group, day, tier, above = NONE, edits, edit }: FlatProps) {
  const [params, change] = useParams();
  const page = Math.max(1, Number(params.get("page") ?? 1) || 1);
  const whole = useWhole(group, day);
  const isArchived = useArchived();
  const wanted = { group, day, tier, search: params.get("q") ?? "", active: params.get("active") === "1", sort: params.get("sort") ?? "rank", offset: (page - 1) * PAGE };
  const list = useRows(wanted);
  if (list.error) return <div class="pad"><Failure error={list.error} retry={list.reload} /></div>;
  if (!list.rows) return <div class="pad"><Loading /></div>;
  if (list.count === 0 && above.length === 0) return wanted.search ? <Empty title="Nothing is called like this">Names are searched as a part, in any case.</Empty> : <Nothing day={day} />;
  return (
    <>
      <Scroll busy={list.isLoading}>
        <table class="data dense">
          <caption class="visually-hidden">{tier}s of the group</caption>
          <Head day={day} tiers={[...new Set([...above, { tier }].map((row) => row.tier))]} />
          <tbody>
            {[...above, ...list.rows].map((row) => (
              <tr key={row.key}>
                <th scope="row" class="name">
                  <span><Link href={entityPath(group, row)}>{row.name}</Link><Archived is={isArchived(whoOf(row))} /></span>
                  {(row.within || row.tier !== tier) && <div class="muted small">{row.tier === tier ? row.within : [row.tier, row.within].filter(Boolean).join(" in ")}</div>}
                </th>
                <Cells day={day} row={row} whole={whole} edits={edits} edit={edit} />
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <Pager page={page} size={PAGE} count={list.count} go={(next) => change({ page: next === 1 ? null : String(next) }, true)} />
    </>
  );
}
