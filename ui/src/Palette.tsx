// The command palette: any page, domain, project or user, by typing.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { useLocation } from "wouter-preact";
import { FIND_ANY, placeOf } from "./lib/find.ts";
import { useQuery } from "./lib/query.ts";
import { groupPath, memberId } from "./lib/route.ts";
import { isUser, me } from "./lib/session.ts";
import { PAGES } from "./pages/index.ts";
import { Button, Field } from "./ui/Basics.tsx";
import { Dialog } from "./ui/Dialog.tsx";

const isOpen = signal(false);

/** Opens the palette with a press. */
export function GoTo() {
  return (
    <Button small onClick={() => (isOpen.value = true)} title="Ctrl K">
      Go to…
    </Button>
  );
}

/** The palette, which keys open, too. It must not be inside of what a narrow screen hides. */
export function Palette({ group }: { group: string }) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      isOpen.value = true;
    };
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      isOpen.value = false;
    };
  }, []);
  return isOpen.value ? <Choices group={group} close={() => (isOpen.value = false)} /> : null;
}

function Choices({ group, close }: { group: string; close: () => void }) {
  const [text, setText] = useState("");
  const [, go] = useLocation();
  const found = useQuery(FIND_ANY, text.length > 1 && !isUser() ? { group, text } : null, false);
  const role = me.value?.role ?? "";
  const pages = PAGES.filter((def) => def.section && def.for(role) && def.name.toLowerCase().includes(text.toLowerCase()));
  // Enter must not take a result that an earlier text has found.
  const known = text.length > 1 && !found.isLoading ? found.data : undefined;
  const choices: [string, string][] = [
    ...pages.map((def): [string, string] => [def.name, groupPath(group, def.id)]),
    ...(known?.domain_fair_shares.edges ?? []).map(({ node }): [string, string] => [`domain ${node.domain_name}`, groupPath(group, "entity", "domain", node.domain_name)]),
    ...(known?.project_fair_shares.edges ?? []).map(({ node }): [string, string] => [`project ${node.project_name ?? node.project_id}`, groupPath(group, "entity", "project", node.project_id)]),
    ...(known?.user_fair_shares.edges ?? []).map(({ node }): [string, string] => [placeOf(node), groupPath(group, "entity", "user", memberId({ user: node.user_uuid, project: node.project_id }))]),
  ];
  const follow = (path: string) => {
    close();
    go(path);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (choices[0]) follow(choices[0][1]);
  };
  return (
    <Dialog title="Go to a page, a domain, a project or a user" close={close}>
      <form class="stack" onSubmit={submit}>
        <Field label="Name" hint="Enter takes the first one.">
          {(props) => <input {...props} type="search" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />}
        </Field>
        <ul class="stack tight">
          {choices.map(([name, path]) => (
            <li key={path}>
              <Button kind="plain" onClick={() => follow(path)}>
                {name}
              </Button>
            </li>
          ))}
        </ul>
        {choices.length === 0 && !found.isLoading && <p class="muted">Nothing is called like this.</p>}
      </form>
    </Dialog>
  );
}
