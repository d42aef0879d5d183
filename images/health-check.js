// `node health-check.js URL [any]`: exit code 0 where the address answers below 500, or with `any` at all. Plain JavaScript on
// node:http, because it runs every few seconds.
import { get } from 'node:http';

const [url, any] = process.argv.slice(2);
const request = get(url, { timeout: 4_000 }, (response) => {
  response.resume();
  process.exitCode = any === 'any' || response.statusCode < 500 ? 0 : 1;
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 s')));
request.on('error', (error) => {
  process.stderr.write(`${url}: ${error.message}\n`);
  process.exitCode = 1;
});
