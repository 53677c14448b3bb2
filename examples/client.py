"""A scheduler's side of fairshared, with Python's standard library only."""
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone


class Refused(Exception):
    """The server will not take this, however often it is sent."""


class Client:
    def __init__(self, url, key, group):
        self.base = url + "/resource-groups/" + urllib.parse.quote(group, safe="")
        self.headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}

    def post(self, path, body, timeout):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), self.headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code in (408, 429) or error.code >= 500:
                raise OSError(f"the server answered {error.code}") from error
            raise Refused(error.read().decode()) from error

    def until_stored(self, path, body, patience):
        """Reports are never skipped: what fails is sent again, with growing pauses."""
        pause, deadline = 1, time.monotonic() + patience
        while True:
            try:
                return self.post(path, body, timeout=10)
            except OSError:
                if time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 60)

    def report(self, kernels, patience=3600):
        """Returns the rows that were refused, each with its errors; all others are stored."""
        batches = (kernels[at:at + 1000] for at in range(0, len(kernels), 1000))
        items = [item for batch in batches for item in self.until_stored("/kernels", batch, patience)["errors"]]
        # Rows with equal errors are one item.
        return [{**row, "errors": item["errors"]} for item in items for row in item.get("rows", [item])]

    def snapshot(self, list_running, patience=60):
        """`list_running` returns all kernels that run; what is missing ends. The time is taken before it is called."""
        taken_at = urllib.parse.urlencode({"taken_at": datetime.now(timezone.utc).isoformat()})
        return self.until_stored("/kernels/snapshot?" + taken_at, list_running(), patience)

    def order(self, workloads):
        """The workloads, first to start first; as they were if the server does not answer within a second."""
        try:
            answer = self.post("/sequence", {"workloads": workloads}, timeout=1)
        except OSError:
            return workloads
        by_id = {workload["workload_id"]: workload for workload in workloads}
        return [by_id[item["workload_id"]] for item in answer["items"]]
