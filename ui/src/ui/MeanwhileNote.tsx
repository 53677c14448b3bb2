// The changes of other clients since a draft was begun, beside the draft, and the two ways on: keep it on the new state, or drop it.
import { actionName } from "../lib/auditLog.ts";
import { differences } from "../lib/differences.ts";
import { authors, type LogEntry, type Meanwhile } from "../lib/meanwhile.ts";
import { Button, Note, When } from "./Basics.tsx";
import { Scroll } from "./Scroll.tsx";

/** One value of a draft. */
export interface DraftValue {
  name: string;
  /** When the draft was begun. */
  begun: string;
  now: string;
  draft: string;
}

interface MeanwhileNoteProps {
  meanwhile: Meanwhile;
  /** The values that the draft changes; `undefined`: it is not known yet how they are now. */
  values?: DraftValue[] | undefined;
  keep: () => void;
  drop: () => void;
}

const MAX_ENTRIES = 5;
const MAX_LINES = 4;

export function MeanwhileNote({ meanwhile, values, keep, drop }: MeanwhileNoteProps) {
  const { entries, isExact } = meanwhile;
  return (
    <Note kind="bad">
      <section class="stack tight" aria-label="What was changed meanwhile">
        <strong>{isExact && entries.length > 0 ? `${authors(entries)} changed this group after you had begun.` : "This group was changed after you had begun."} Nothing of yours is saved.</strong>
        {entries.length > 0 && !isExact && <span class="small">The latest changes of the group:</span>}
        <ul class="marks">
          {entries.slice(0, MAX_ENTRIES).map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ul>
        {entries.length > MAX_ENTRIES && <span class="small">And {entries.length - MAX_ENTRIES} more; the page Audit has all of them.</span>}
        {values && values.length > 0 && (values.some(({ begun, now }) => now !== begun) ? <Values values={values} /> : <span class="small">What you change is as it was when you began.</span>)}
        <span class="small">Kept, your changes are written over the new state, and all else stays as it is there. The preview shows the result.</span>
        <div class="row start">
          <Button kind="primary" small disabled={!values} onClick={keep}>
            Keep my changes on the new state
          </Button>
          <Button small onClick={drop}>
            Drop my changes
          </Button>
        </div>
      </section>
    </Note>
  );
}

function Entry({ entry }: { entry: LogEntry }) {
  const all = differences(entry.before, entry.after, entry.names);
  return (
    <li class="small">
      <strong>{entry.actor}</strong>, <When at={entry.at} />: {actionName(entry.action)}
      {entry.reason && <> “{entry.reason}”</>}
      {all.slice(0, MAX_LINES).map(([path, was, is]) => (
        <div key={path} class="wrap">
          {path && <span class="muted">{path}: </span>}
          {was} → {is}
        </div>
      ))}
      {all.length > MAX_LINES && <div class="muted">and {all.length - MAX_LINES} more</div>}
    </li>
  );
}

function Values({ values }: { values: DraftValue[] }) {
  return (
    <Scroll>
      <table class="data cards">
        <caption class="visually-hidden">Your draft beside what is there now</caption>
        <thead>
          <tr>
            <th scope="col" class="name">What you change</th>
            <th scope="col">When you began</th>
            <th scope="col">Now</th>
            <th scope="col">Yours</th>
          </tr>
        </thead>
        <tbody>
          {values.map(({ name, begun, now, draft }) => (
            <tr key={name}>
              <th scope="row" class="name">{name}</th>
              <td>{begun}</td>
              <td>{now === begun ? now : <><strong>{now}</strong> <span class="pill bad">changed</span></>}</td>
              <td>{draft}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
