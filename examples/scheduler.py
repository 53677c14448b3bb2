"""A scheduler of a simulated cluster, with Python's standard library only: it reports, asks what starts now, starts and evicts, and repeats.

    FAIRSHARED_SERVER=http://localhost:8080 FAIRSHARED_KEY=fsk_… python3 examples/scheduler.py gpu-cluster examples/workloads.json

A member "runs" for the seconds of its workload. The program keeps nothing that the server does not know: kill it at any moment and start it again.
"""
import json
import os
import sys
import time
import urllib.request
import uuid
from datetime import datetime, timedelta, timezone

from client import Client


def identifier(*parts):
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "/".join(map(str, parts))))


def members(workload):
    """The kernels of a workload as they are first reported."""
    for number in range(workload.get("members", 1)):
        yield {
            "kernel_id": identifier("kernel", workload["workload_id"], number), "session_id": identifier("session", workload["workload_id"]),
            "gang_id": workload["workload_id"], "gang_min": workload.get("gang_min", workload.get("members", 1)),
            "user_uuid": identifier("user", workload["user"]), "user_name": workload["user"],
            "project_id": identifier("project", workload["project"]), "project_name": workload["project"], "domain_name": "simulated",
            "occupied_slots": workload["slots"], "priority": workload.get("priority", 0), "expected_seconds": workload["seconds"],
            "status": "PENDING", "submitted_at": now().isoformat(),
        }


def now():
    return datetime.now(timezone.utc)


def end(kernel):
    """The end of a kernel that is not evicted."""
    return datetime.fromisoformat(kernel["started_at"]) + timedelta(seconds=kernel["expected_seconds"])


def submitted_again(kernel):
    """The kernel that takes the place of an evicted one."""
    waits = {"kernel_id": identifier("again", kernel["kernel_id"]), "status": "PENDING", "submitted_at": now().isoformat()}
    return {key: value for key, value in kernel.items() if key not in ("started_at", "terminated_at", "agent_id")} | waits


class Scheduler(Client):
    def known_kernels(self):
        """All kernels that the server knows, by id."""
        kernels, cursor = {}, ""
        while cursor is not None:
            request = urllib.request.Request(f"{self.base}/kernels?limit=1000{cursor}", headers=self.headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                page = json.load(answer)
            kernels |= {kernel["kernel_id"]: kernel for kernel in page["items"]}
            cursor = "&cursor=" + page["next_cursor"] if page.get("next_cursor") else None
        return kernels

    def resume(self, workloads):
        """The kernels that have not ended, as the server knows them; new workloads are reported."""
        known, kernels, unreported = self.known_kernels(), {}, []
        for kernel in (kernel for workload in workloads for kernel in members(workload)):
            while (seen := known.get(kernel["kernel_id"])) and seen["status"] == "TERMINATED":
                if datetime.fromisoformat(seen["terminated_at"]) >= end(seen):
                    break
                kernel = submitted_again(kernel)
            else:
                kernel |= {key: seen[key] for key in ("status", "started_at", "agent_id", "submitted_at") if seen} if seen else {}
                kernels[kernel["kernel_id"]] = kernel
                unreported += [] if seen else [kernel]
        self.report(unreported)
        return kernels

    def run_round(self, kernels):
        """Ends what is over, and does what the plan says. A report is stored as a whole, so that no gang starts half."""
        over = [kernel for kernel in kernels.values() if kernel["status"] == "RUNNING" and end(kernel) <= now()]
        self.change(kernels, [kernel | {"status": "TERMINATED", "terminated_at": end(kernel).isoformat()} for kernel in over])
        plan = self.until_stored("/cycle-plans", {}, patience=3600)
        moment = now()
        victims = [kernels[kernel_id] for eviction in plan["evictions"] for kernel_id in eviction["kernel_ids"]]
        started = [(kernels[member["kernel_id"]], member["agent_id"]) for start in plan["starts"] for member in start["members"]]
        # A victim may have come to its end while the plan was made.
        changes = [victim | {"status": "TERMINATED", "terminated_at": min(moment, end(victim)).isoformat()} for victim in victims]
        changes += [submitted_again(victim) for victim in victims if end(victim) > moment]
        changes += [kernel | {"status": "RUNNING", "started_at": moment.isoformat(), "agent_id": agent} for kernel, agent in started]
        self.change(kernels, changes)
        return len(started), len(victims), len(over)

    def change(self, kernels, changes):
        """Reports changes, and takes them over once they are stored."""
        if changes and (errors := self.until_stored("/kernels", changes, patience=3600)["errors"]):
            sys.exit(f"refused: {errors}")
        kernels |= {kernel["kernel_id"]: kernel for kernel in changes}
        for kernel in changes:
            if kernel["status"] == "TERMINATED":
                del kernels[kernel["kernel_id"]]


def main():
    group, file = sys.argv[1:]
    scheduler = Scheduler(os.environ["FAIRSHARED_SERVER"], os.environ["FAIRSHARED_KEY"], group)
    with open(file, encoding="utf-8") as lines:
        kernels = scheduler.resume(json.load(lines))
    idle_rounds = 0
    while any(kernel["status"] == "RUNNING" for kernel in kernels.values()) or (kernels and idle_rounds < 3):
        started, evicted, ended = scheduler.run_round(kernels)
        idle_rounds = 0 if started or ended else idle_rounds + 1
        print(f"{started} started, {evicted} evicted, {ended} ended, {len(kernels)} left", flush=True)
        time.sleep(float(os.environ.get("ROUND_SECONDS", "2")))
    if kernels:
        sys.exit(f"{len(kernels)} kernels can never start; `fairshared workloads list {group}` says why")


if __name__ == "__main__":
    main()
