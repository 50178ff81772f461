// Mastra: a chain of steps that do nothing. Usage: node mastra.mjs VERSION
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { z } from "zod";

const schema = z.object({ n: z.number() });
const chain = (length) => {
  const step = (index) =>
    createStep({ id: `n${index}`, inputSchema: schema, outputSchema: schema, execute: async ({ inputData }) => ({ n: inputData.n + 1 }) });
  let workflow = createWorkflow({ id: `chain${length}`, inputSchema: schema, outputSchema: schema });
  for (let index = 0; index < length; index++) workflow = workflow.then(step(index));
  return workflow.commit();
};
for (const [what, length] of [["chain", 100], ["graph", 10]]) {
  const workflow = chain(length);
  const run = async () => {
    const { result } = await (await workflow.createRun()).start({ inputData: { n: 0 } });
    if (result?.n !== length) throw new Error(`wrong: ${JSON.stringify(result)}`);
  };
  await run();
  const began = performance.now(), processor = process.cpuUsage();
  let rounds = 0;
  for (; performance.now() - began < 3000; rounds++) await run();
  const { user, system } = process.cpuUsage(processor);
  const each = (microseconds) => Math.round(microseconds / (rounds * length));
  console.log(JSON.stringify({ engine: `Mastra ${process.argv[2]}`, what, wall_us: each((performance.now() - began) * 1000), cpu_us: each(user + system) }));
}
process.exit(0);
