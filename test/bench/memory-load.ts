import { Pool } from 'undici';

/** Records memories as a client, so many at a time, each time that the parent process says how many; answers with the rate. */
const [url, token, connections] = process.argv.slice(2) as [string, string, string];
const pool = new Pool(url, { connections: Number(connections), pipelining: 1 });
const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
let told = 0;

async function recordOne(): Promise<void> {
  const content = `Request ${told++} told that the deployment of the service waits for the second reviewer. It went on after the break.`;
  const body = JSON.stringify({ layer: 'semantic', content, source: 'bench' });
  const answer = await pool.request({ path: '/v1/memory/record', method: 'POST', headers, body });
  const text = await answer.body.text();
  if (answer.statusCode !== 201 || !text.includes('"created":true'))
    throw new Error(`${answer.statusCode} ${text}`);
}

process.on('message', async (requests: number) => {
  const started = performance.now();
  let left = requests;
  await Promise.all(
    Array.from({ length: Number(connections) }, async () => {
      while (left-- > 0) await recordOne();
    }),
  );
  process.send!((requests * 1000) / (performance.now() - started));
});
process.once('disconnect', () => process.exit());
