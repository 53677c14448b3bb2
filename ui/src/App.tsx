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
          {(params) => groups.value.length === 0 ? <WithoutGroup /> : <Place group={decodeURIComponent(params.group)} page={params.page} rest={(params["*"] ?? "").split("/").filter(Boolean).map(decodeURIComponent)} />}
        </Route>
        <Route path="/:page">{(params) => (groups.value.length === 0 ? <WithoutGroup page={params.page} /> : <Home />)}</Route>
        <Route>{groups.value.length === 0 ? <WithoutGroup /> : <Home />}</Route>
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
      <Loading />
    </main>
  );
}

/** The pages of a server that has no resource group yet. */
function WithoutGroup({ page }: { page?: string }) {
  const role = me.value?.role ?? "";
  const found = PAGES.find((known) => known.id === page && known.ofServer && known.for(role));
  useEffect(() => {
    if (!found) document.title = "Start · fairshared";
  }, [found]);
  return (
    <Frame group={undefined} page={found?.id ?? "start"} rest={[]}>
      {found ? <Lazy key={found.id} def={found} group="" rest={[]} /> : <Late id="page start" load={loadStart} props={{}} lost={LOST} />}
    </Frame>
  );
}

const loadStart = () => import("./pages/start/index.tsx");
const LOST = "This page did not load. Reload it when the server can be reached.";

export interface PageProps {
  /** Empty on a server without any group. */
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
    document.title = [def.name, group, "fairshared"].filter(Boolean).join(" · ");
  }, [def, group]);
  return <Late id={`page ${def.id}`} load={def.load} props={{ group, rest }} lost={LOST} />;
}
