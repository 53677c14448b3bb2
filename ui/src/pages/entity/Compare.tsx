// Another user of the group beside the user that the page is about.
import { useState } from "preact/hooks";
import { FIND, placeOf } from "../../lib/find.ts";
import { useQuery } from "../../lib/query.ts";
import { memberId } from "../../lib/route.ts";
import { Button, Card, Field } from "../../ui/Basics.tsx";

export function Compare({ group, self, compare }: { group: string; self: string; compare: (other: string) => void }) {
  const [text, setText] = useState("");
  const answer = useQuery(FIND, text.length > 1 ? { group, text } : null, false);
  const found = text.length > 1 ? (answer.data?.user_fair_shares.edges ?? []).map(({ node }) => ({ node, id: memberId({ user: node.user_uuid, project: node.project_id }) })) : [];
  const others = found.filter(({ id }) => id !== self);
  return (
    <Card title="Why is another user ahead?">
      <Field label="Compare with" hint="Two letters of the name of any user of the group.">
        {(props) => <input {...props} type="search" autocomplete="off" style={{ maxWidth: "340px" }} value={text} onInput={(event) => setText(event.currentTarget.value)} />}
      </Field>
      {others.length > 0 && (
        <ul class="stack tight">
          {others.map(({ node, id }) => (
            <li key={id}>
              <Button kind="plain" onClick={() => compare(id)}>
                {placeOf(node)}
                {node.rank !== null && `, rank ${node.rank}`}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {text.length > 1 && !answer.isLoading && !answer.error && others.length === 0 && <p class="muted">No other user is called like this.</p>}
    </Card>
  );
}
