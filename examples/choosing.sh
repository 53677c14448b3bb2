#!/usr/bin/env bash
# Replays public traces under policies that differ in order, mode and half-life, and writes what came of it into docs/CHOOSING.md.
#   examples/choosing.sh [PROGRAM]      the program is target/release/fairshared unless it is named
# The traces are no part of this repository: they are expected in ../shared/data.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/fairshared}")
data=$(realpath -m ../shared/data)
[ -d "$data" ] || data=$(realpath -m ../../shared/data)
[ -d "$data" ] || { echo "skipped: no ../shared/data"; exit 0; }
[ -x "$program" ] || { echo "there is no $program: cargo build --release" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

policies=(--policy "$work/fifo.yaml")
echo "scheduler: fifo" > "$work/fifo.yaml"
# policy NAME ORDER MODE HALF_LIFE INTERVAL
policy() {
  local lookback=$(($4 * 4 > 28 ? $4 * 4 : 28))
  printf 'scheduler=fairshare\norder=%s\nsequence_mode=%s\nhalf_life_days=%s\nlookback_days=%s\nslice_interval_seconds=%s\n' \
    "$2" "$3" "$4" "$lookback" "$5" > "$work/$1.yaml"
  policies+=(--policy "$work/$1.yaml")
}
for half_life in 1 7 14 30; do
  for order in flat tiered; do
    for mode in plain progressive; do policy "$order, $mode, $half_life d" $order $mode $half_life 300; done
  done
done
for interval in 60 3600; do
  for mode in plain progressive; do policy "flat, $mode, 7 d, every $interval s" flat $mode 7 $interval; done
done

# Cells that both tables have.
cat > "$work/cells.py" <<'PYTHON'
def span(seconds):
    seconds = float(seconds)
    if seconds < 3600: return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} d"
PYTHON
export PYTHONPATH=$work

# A row for each policy; who gains or loses is compared with fifo: users whose mean wait is another by more than a tenth and a minute.
table() {
  python3 - "$1" <<'PYTHON'
import csv, sys
from cells import span
rows = list(csv.DictReader(open(sys.argv[1])))
fifo = {(r["domain"], r["project"], r["user"]): r for r in rows if r["policy"] == "fifo" and r["tier"] == "user"}
print("| policy | mean wait | p95 | slowdown | users who wait less / more than under fifo | misallocated share: users | projects | utilisation |")
print("| --- | --- | --- | --- | --- | --- | --- | --- |")
for row in rows:
    if row["tier"] != "all": continue
    less = more = 0
    for user in (r for r in rows if r["policy"] == row["policy"] and r["tier"] == "user"):
        before, now = (float(r["wait_mean"]) for r in (fifo[user["domain"], user["project"], user["user"]], user))
        if abs(now - before) > max(60, before / 10):
            less, more = less + (now < before), more + (now > before)
    gain = "" if row["policy"] in ("fifo", "recorded") else f"{less} / {more}"
    share = lambda key: f"{float(row[key]):.3f}"
    print("| " + " | ".join([row["policy"], span(row["wait_mean"]), span(row["wait_p95"]), f'{float(row["bounded_slowdown"]):.0f}', gain,
        share("misallocated_users"), share("misallocated_projects"), f'{100 * float(row["utilisation"]):.0f} %']) + " |")
PYTHON
}

# fill NAME FILE: puts a file into the part of the page that is named.
fill() {
  python3 - "$1" "$2" <<'PYTHON'
import sys
name, part = sys.argv[1], open(sys.argv[2]).read()
text = open("docs/CHOOSING.md").read()
start, end = f"<!-- {name}: examples/choosing.sh -->\n", f"<!-- end of {name} -->"
before, rest = text.split(start)
open("docs/CHOOSING.md", "w").write(before + start + part + end + rest.split(end)[1])
PYTHON
}

# replay NAME ARGUMENTS...
replay() {
  local name=$1; shift
  echo "replaying $name" >&2
  "$program" replay "$@" "${policies[@]}" -o csv > "$work/$name.csv" 2> "$work/$name.notes"
  { echo; sed -n 's/^note: /- /p' "$work/$name.notes"; echo; table "$work/$name.csv"; echo; } > "$work/$name.md"
  fill "$name" "$work/$name.md"
}

# schedulers NAME ARGUMENTS...: one order, started by each of the three schedulers, beside what was recorded.
schedulers() {
  local name=$1 scheduler
  shift
  for scheduler in strict skip easy; do
    echo "replaying $name with $scheduler" >&2
    "$program" replay "$@" --scheduler "$scheduler" --policy "$work/flat, plain, 7 d.yaml" -o csv > "$work/$name-$scheduler.csv" 2> /dev/null
  done
  python3 - "$name" "$work" >> "$work/schedulers.md" <<'PYTHON'
import csv, sys
from cells import span
name, work = sys.argv[1:]
shown = set()
for scheduler in ("strict", "skip", "easy"):
    for row in csv.DictReader(open(f"{work}/{name}-{scheduler}.csv")):
        who = "recorded" if row["policy"] == "recorded" else scheduler
        if row["tier"] != "all" or who in shown: continue
        shown.add(who)
        print("| " + " | ".join([f"`{name}`", who, span(row["wait_mean"]), span(row["wait_p95"]), f'{float(row["bounded_slowdown"]):.0f}',
            f'{100 * float(row["utilisation"]):.0f} %']) + " |")
PYTHON
}

# What `cargo bench -- closed_loop` has measured and `cargo bench -- report` has published.
closed_loop() {
  python3 <<'PYTHON'
import json
rows = [json.loads(line) for line in open("benches/measured.jsonl")]
# The figures are the same on both databases.
rows = {row["figure"]: row for row in rows if row["bench"] == "closed_loop"}.values()
if rows:
    print("\n| who, order, half-life, jobs | progressive | plain |\n| --- | --- | --- |")
    for row in rows:
        print(f'| {row["figure"]} | {row["measured"]:.4f} | {row["floor"]:.4f} |')
    print()
PYTHON
}
closed_loop > "$work/closed_loop.md"
[ ! -s "$work/closed_loop.md" ] || fill closed_loop "$work/closed_loop.md"

wagap2013=("$data/wagap2013/wagap2013.swf.gz" --group cerit --swf-memory bytes-per-node --capacities "$data/wagap2013/capacities.csv")
lcg2005=("$data/lcg2005/lcg2005.swf.gz" --group grid --load 0.95)
philly2017=("$data/philly2017/jobs.csv.gz" --group philly --load 0.9)
printf '\n| trace | scheduler | mean wait | p95 | slowdown | utilisation |\n| --- | --- | --- | --- | --- | --- |\n' > "$work/schedulers.md"
schedulers wagap2013 "${wagap2013[@]}"
schedulers lcg2005 "${lcg2005[@]}"
schedulers philly2017 "${philly2017[@]}"
echo >> "$work/schedulers.md"
fill schedulers "$work/schedulers.md"
replay wagap2013 "${wagap2013[@]}" --scheduler easy
replay lcg2005 "${lcg2005[@]}"
replay philly2017 "${philly2017[@]}" --scheduler easy
