"""Temporal's workflow, in a module of its own because its sandbox imports it anew for every run."""
from datetime import timedelta

from temporalio import activity, workflow


@activity.defn
async def step(count: int) -> int:
    return count + 1


@workflow.defn
class Chain:
    @workflow.run
    async def run(self, length: int) -> int:
        count = 0
        for _ in range(length):
            count = await workflow.execute_activity(step, count, start_to_close_timeout=timedelta(seconds=10))
        return count
