"""Calls of a server through the client that a generator made of the document of the REST API.

Usage: calls.py PROGRAM CLIENT, with the program `fairshared` and the folder that holds the package of the client.
Starts a server on an empty database, calls it, and fails at the first answer that is not as the document says.
"""

import datetime
import os
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

program, package = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
sys.path.insert(0, str(package.parent))

from fairshared_client import AuthenticatedClient, Client, models, types  # noqa: E402
from fairshared_client.api.access import create_key, whoami  # noqa: E402
from fairshared_client.api.agents import list_agents, put_agents  # noqa: E402
from fairshared_client.api.fair_share import (  # noqa: E402
    get_fair_share_status,
    get_fairness,
    list_fair_share_history,
    list_fair_share_weights,
    put_fair_share_weights,
)
from fairshared_client.api.health import metrics, readyz  # noqa: E402
from fairshared_client.api.kernels import list_kernels, post_kernels  # noqa: E402
from fairshared_client.api.operations import run_job  # noqa: E402
from fairshared_client.api.queues import delete_queue, get_division, put_queue  # noqa: E402
from fairshared_client.api.resource_groups import get_resource_group, put_resource_group  # noqa: E402
from fairshared_client.api.scheduler_options import get_scheduler_options, patch_scheduler_options  # noqa: E402
from fairshared_client.api.sequencing import post_sequence  # noqa: E402
from fairshared_client.api.usage import get_usage_report  # noqa: E402

GROUP = "gpu-cluster"
called = set()


def call(operation, status, /, *arguments, **keywords):
    """Calls one operation and returns the body of its answer, which must have this status."""
    answer = operation.sync_detailed(*arguments, **keywords)
    name = operation.__name__.rsplit(".", 1)[-1]
    assert answer.status_code == status, f"{name}: {answer.status_code}: {answer.content.decode()}"
    called.add(name)
    return answer.parsed


def kernel(user, slots, **others):
    """A kernel that has run for an hour."""
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    return models.KernelInput.from_dict({
        "kernel_id": str(uuid.uuid4()), "session_id": str(uuid.uuid4()), "user": user, "project": "vision",
        "domain_name": "research", "occupied_slots": slots, "status": "RUNNING", "started_at": start.isoformat(), **others,
    })


def make_calls(url, key):
    guest, client = Client(base_url=url), AuthenticatedClient(base_url=url, token=key)
    assert call(readyz, 200, client=guest).status == "ready"
    assert call(whoami, 401, client=guest).code == "missing_key"
    assert call(whoami, 200, client=client).role == "admin"

    # A cluster, and what runs there, as an array and as one object.
    call(put_resource_group, 201, GROUP, client=client, body=models.SchedulerOptionsPatch())
    agent = {"agent_id": "node-01", "available_slots": {"cpu": 64, "mem": "512Gi", "cuda.device": 8}}
    call(put_agents, 200, GROUP, client=client, body=models.AgentsBody.from_dict({"agents": [agent]}))
    [agent] = call(list_agents, 200, GROUP, client=client).items
    assert agent.available_slots["cpu"] == "64", agent
    rows = [kernel("amelia", {"cpu": 4, "cuda.device": 1}), kernel("yara", {"cpu": "0.5", "mem": "16Gi"})]
    assert call(post_kernels, 200, GROUP, client=client, body=rows).accepted == 2
    assert call(post_kernels, 200, GROUP, client=client, body=kernel("kofi", {"cpu": 1})).accepted == 1
    refused = call(post_kernels, 200, GROUP, client=client, body=[kernel("kofi", {"cpu": -1})])
    assert refused.errors[0].errors[0].pointer == "/occupied_slots/cpu", refused
    running = call(list_kernels, 200, GROUP, client=client, status="RUNNING")
    assert sorted(row.user_name for row in running.items) == ["amelia", "kofi", "yara"], running

    # Settings: weights, options, queues.
    weights = models.WeightChanges.from_dict(
        {"items": [{"target_type": "domain", "domain_name": "research", "weight": "2.5"}], "reason": "grant"})
    assert call(put_fair_share_weights, 200, GROUP, client=client, body=weights).upserted == 1
    weights = call(list_fair_share_weights, 200, GROUP, client=client)
    assert [row.weight for row in weights.items] == ["2.5"], weights
    weights = models.WeightChanges.from_dict({"items": [{"target_type": "domain", "domain_name": "research", "weight": -1}]})
    problem = call(put_fair_share_weights, 422, GROUP, client=client, body=weights)
    assert problem.errors[0].pointer == "/items/0/weight", problem
    options = models.SchedulerOptionsPatch.from_dict({"scheduler_opts": {"half_life_days": 14}})
    call(patch_scheduler_options, 200, GROUP, client=client, body=options)
    assert call(get_scheduler_options, 200, GROUP, client=client).scheduler_opts["half_life_days"] == 14
    queue = models.QueueConfigWithReason.from_dict({"quota": {"cuda.device": 4}, "reason": "a first share"})
    assert call(put_queue, 201, GROUP, "vision", client=client, body=queue).queue.name == "vision"
    division = call(get_division, 200, GROUP, client=client)
    assert division.options.algorithm == "quota_over_quota", division
    call(delete_queue, 204, GROUP, "vision", client=client)

    # What follows from all that.
    runs = call(run_job, 200, "aggregate", client=client, body=models.RunJob(resource_group=GROUP))
    assert runs.items and all(run.error in (None, types.UNSET) for run in runs.items), runs
    workloads = [{"workload_id": f"{user}-1", "user": user, "project": "vision"} for user in ("amelia", "yara")]
    order = call(post_sequence, 200, GROUP, client=client, body=models.SequenceRequest.from_dict({"workloads": workloads}))
    assert [item.workload_id for item in order.items] == ["yara-1", "amelia-1"], order
    assert call(get_fair_share_status, 200, GROUP, client=client).total == 3
    tier = models.GetFairnessTier.USER
    assert call(get_fairness, 200, GROUP, client=client, tier=tier).tier == "user"
    by_rank = models.ListFairShareHistoryOrder.RANK
    call(list_fair_share_history, 200, GROUP, client=client, order=by_rank)
    today = datetime.datetime.now(datetime.UTC).date()
    report = call(get_usage_report, 200, GROUP, client=client, from_=today - datetime.timedelta(days=1), to=today, by="user")
    assert {row.user_name for row in report.items} == {"amelia", "kofi", "yara"}, report
    assert call(get_resource_group, 404, "other", client=client).code == "unknown_resource_group"
    assert "fairshared_" in call(metrics, 200, client=client)

    # A key that may only read.
    reader = call(create_key, 201, client=client, body=models.KeyRequest.from_dict({"label": "screen", "role": "viewer"}))
    reader = AuthenticatedClient(base_url=url, token=reader.key)
    assert call(get_resource_group, 200, GROUP, client=reader).name == GROUP
    assert call(delete_queue, 403, GROUP, "default", client=reader).code == "forbidden"


def main():
    with tempfile.TemporaryDirectory() as folder:
        settings = {name: value for name, value in os.environ.items() if not name.startswith("FAIRSHARED_")}
        settings["FAIRSHARED_DATABASE_URL"] = f"sqlite://{folder}/fairshared.db"
        create = [program, "keys", "create", "--role", "admin", "--label", "judge"]
        key = subprocess.run(create, env=settings, check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
        serve = [program, "serve", "--listen", "127.0.0.1:0"]
        server = subprocess.Popen(serve, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            line = server.stdout.readline()
            assert line.startswith("listening on "), f"the server did not start: {line!r}"
            make_calls(line.split()[2], key)
        finally:
            server.terminate()
            server.wait()
    print(f"the generated client made {len(called)} different calls: {', '.join(sorted(called))}")


main()
