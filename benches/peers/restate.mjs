// Restate: durable steps, from the ingress of its server. Usage: node restate.mjs VERSION INGRESS ADMIN PORT
import * as restate from "@restatedev/restate-sdk";

const [version, ingress, admin, port] = process.argv.slice(2);
const DURABLE = 10;
const chain = restate.service({
  name: "chain",
  handlers: {
    run: async (context, count) => {
      for (let step = 0; step < DURABLE; step++) count = await context.run(`s${step}`, () => count + 1);
      return count;
    },
  },
});
await restate.serve({ services: [chain], port: Number(port) });
const post = async (address, body) => {
  const reply = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return reply.json();
};
for (let attempt = 0; ; attempt++) {
  try {
    await post(`${admin}/deployments`, { uri: `http://127.0.0.1:${port}`, force: true });
    break;
  } catch (error) {
    if (attempt === 60) throw error;
    await new Promise((done) => setTimeout(done, 500));
  }
}
const run = () => post(`${ingress}/chain/run`, 0);
for (let attempt = 0; ; attempt++) {
  try {
    await run();
    break;
  } catch (error) {
    if (attempt === 20) throw error;
    await new Promise((done) => setTimeout(done, 500));
  }
}
const began = performance.now();
let rounds = 0;
while (performance.now() - began < 3000) {
  if ((await run()) !== DURABLE) throw new Error("wrong");
  rounds++;
}
const wall = ((performance.now() - began) * 1000) / (rounds * DURABLE);
console.log(JSON.stringify({ engine: `Restate ${version}`, what: "durable", wall_us: Math.round(wall), cpu_us: null }));
process.exit(0);
