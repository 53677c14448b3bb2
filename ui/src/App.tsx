// The frame: who is signed in, which page the address names, and the way to the others.
import { useEffect } from "preact/hooks";
import { Route, Router, Switch, useLocation } from "wouter-preact";
import { basePath } from "./lib/client.ts";
import { homeGroup } from "./lib/home.ts";
import { groupPath } from "./lib/route.ts";
import { groups, me, unreachable } from "./lib/session.ts";
import { Frame } from "./Frame.tsx";
import { PAGES, type PageDef } from "./pages/index.ts";
import { SignIn } from "./SignIn.tsx";
import { Note } from "./ui/Basics.tsx";
import { Late } from "./ui/Late.tsx";
import { Empty, Loading } from "./ui/States.tsx";
import { Toast } from "./ui/Toast.tsx";

export function App() {
  if (me.value === undefined) return <main class="signin">{unreachable.value ? <Note kind="bad">The server cannot be reached.</Note> : <Loading />}</main>;
  if (me.value === null) return <SignIn />;
  return (
    <Router base={basePath().replace(/\/$/, "")}>
      <Switch>
        <Route path="/:group/:page/*?">
          {(params) => <Place group={decodeURIComponent(params.group)} page={params.page} rest={(params["*"] ?? "").split("/").filter(Boolean).map(decodeURIComponent)} />}
        </Route>
        <Route>
          <Home />
        </Route>
      </Switch>
      <Toast />
    </Router>
  );
}

/** Without an address: the home of the role. */
function Home() {
  const [, go] = useLocation();
  const first = groups.value[0];
  const role = me.value?.role ?? "";
  const page = PAGES.find((page) => page.home?.(role)) ?? PAGES.find((page) => page.for(role));
  useEffect(() => {
    if (!first || !page) return;
    let isShown = true;
    const arrive = (group = first) => isShown && go(groupPath(group, page.id), { replace: true });
    homeGroup().then(arrive, () => arrive());
    return () => {
      isShown = false;
    };
  }, [first, page, go]);
  return (
    <main class="signin">
      {first ? <Loading /> : <Empty title="There is no resource group yet">A scheduler makes one with its first report; so does <code>fairshared groups create NAME</code>.</Empty>}
    </main>
  );
}

export interface PageProps {
  group: string;
  rest: string[];
}

function Place({ group, page, rest }: PageProps & { page: string }) {
  const found = PAGES.find((known) => known.id === page);
  const role = me.value?.role ?? "";
  return (
    <Frame group={group} page={page} rest={rest}>
      {!groups.value.includes(group) ? (
        <Empty title="There is no such resource group">Your key does not show a group called “{group}”. Choose one from the list.</Empty>
      ) : !found ? (
        <Empty title="There is no such page">The address leads nowhere. Choose a page from the list.</Empty>
      ) : !found.for(role) ? (
        <Empty title="Your key does not show this page">A key with the role {role} does not reach it.</Empty>
      ) : (
        <Lazy key={found.id} def={found} group={group} rest={rest} />
      )}
    </Frame>
  );
}

function Lazy({ def, group, rest }: PageProps & { def: PageDef }) {
  useEffect(() => {
    document.title = `${def.name} · ${group} · fairshared`;
  }, [def, group]);
  return <Late id={`page ${def.id}`} load={def.load} props={{ group, rest }} lost="This page did not load. Reload it when the server can be reached." />;
}
