// The frame around every page: the list of pages, the group, live or not, and the person who is signed in.
import { Fragment, type ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Link, useLocation } from "wouter-preact";
import { isPast } from "./lib/past.ts";
import { isLive, useLive } from "./lib/query.ts";
import { groupPath } from "./lib/route.ts";
import { groups, me, signOut, unreachable } from "./lib/session.ts";
import { chooseTheme, theme, type Theme } from "./lib/theme.ts";
import { exact } from "./lib/time.ts";
import { GoTo, Palette } from "./Palette.tsx";
import { PAGES, type PageDef } from "./pages/index.ts";
import { Button, Note, Select } from "./ui/Basics.tsx";

export function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#1f6f6b" />
      <path d="M7 23V9m0 14h18" stroke="#fff" stroke-width="2.4" stroke-linecap="round" fill="none" />
      <path d="M12 19v-4m5 4V9m5 10v-7" stroke="#fff" stroke-width="3" stroke-linecap="round" />
    </svg>
  );
}

/** The address alone would lead to the base of the pages. */
function skip(event: Event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** The way to a page. Without a group most pages have nothing to show yet. */
function Place({ group, def, isHere }: { group: string | undefined; def: PageDef; isHere: boolean }) {
  if (group === undefined && !def.ofServer) {
    return (
      <span class="closed" title="It shows a resource group, and there is none yet">
        {def.name}
      </span>
    );
  }
  return (
    <Link href={group === undefined ? `/${def.id}` : groupPath(group, def.id)} aria-current={isHere ? "page" : undefined}>
      {def.name}
    </Link>
  );
}

interface FrameProps {
  /** `undefined`: the server has no group yet. */
  group: string | undefined;
  page: string;
  /** The rest of the address after the page: another group has the same domains, projects and users. */
  rest: string[];
  children: ComponentChildren;
}

export function Frame({ group, page, rest, children }: FrameProps) {
  const [open, setOpen] = useState(false);
  const [path, go] = useLocation();
  useLive(group);
  useEffect(() => setOpen(false), [path]);
  const role = me.value?.role ?? "";
  const known = group === undefined || groups.value.includes(group) ? groups.value : [group, ...groups.value];
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <div class="topbar">
        <span class="row">
          <Logo />
          <strong class="wrap">{group ?? "fairshared"}</strong>
        </span>
        <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
          Menu
        </Button>
      </div>
      <aside class="side" aria-label="Group and pages" data-open={open ? "" : undefined}>
        <div class="row">
          <Link class="brand" href="/">
            <Logo />
            fairshared
          </Link>
          {open && (
            <Button small kind="plain" onClick={() => setOpen(false)}>
              Close
            </Button>
          )}
        </div>
        {group !== undefined && (
          <div class="field">
            <label for="group">Resource group</label>
            <Select id="group" value={group} options={known.map((name) => [name, name])} onChange={(event) => go(groupPath(event.currentTarget.value, page, ...rest))} />
          </div>
        )}
        <nav aria-label="Pages">
          {group === undefined && (
            <Link href="/" aria-current={page === "start" ? "page" : undefined}>
              Start
            </Link>
          )}
          {PAGES.filter((def) => def.section && def.for(role)).map((def, at, all) => (
            <Fragment key={def.id}>
              {def.section !== all[at - 1]?.section && <h2>{def.section}</h2>}
              <Place group={group} def={def} isHere={def.id === page} />
            </Fragment>
          ))}
        </nav>
        <footer>
          {group !== undefined && (
            <>
              <GoTo />
              <label class="check">
                <input type="checkbox" checked={isLive.value && !isPast.value} disabled={isPast.value} onChange={(event) => (isLive.value = event.currentTarget.checked)} />
                Live
              </label>
            </>
          )}
          <label class="row">
            <span>Colours</span>
            <Select
              value={theme.value}
              options={[
                ["system", "as the system"],
                ["light", "light"],
                ["dark", "dark"],
              ]}
              onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
            />
          </label>
          <div class="wrap" title={me.value?.expires_at ? `signed in until ${exact(me.value.expires_at)}` : undefined}>
            <strong>{me.value?.user_name ?? me.value?.label}</strong> <span class="pill">{role}</span>
          </div>
          <Button small onClick={() => void signOut()}>
            Sign out
          </Button>
        </footer>
      </aside>
      {group !== undefined && <Palette group={group} />}
      <main class="main" id="main" tabIndex={-1}>
        <div class="stack">
          {unreachable.value && <Note kind="bad">The server cannot be reached. What you see may be old; it goes on by itself.</Note>}
          {children}
        </div>
      </main>
    </div>
  );
}
