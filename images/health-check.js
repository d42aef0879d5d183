// `node health-check.js NAME PORT [PATH]`: exit code 0 where the service answers to others as it has to: at the container's own address,
// under its name in the network, below 400 or as a standby; without PATH any answer will do. Plain JavaScript on node:http, because it runs every few
// seconds.
import { get } from 'node:http';
import { hostname } from 'node:os';

const [name, port, path] = process.argv.slice(2);
const host = hostname();
const where = `${name} at ${host}:${port}${path ?? ''}`;
const request = get({ host, port, path, headers: { host: `${name}:${port}` }, timeout: 4_000 }, (response) => {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (part) => {
    if (text.length < 65_536) text += part;
  });
  response.on('end', () => {
    if (path === undefined || response.statusCode < 400 || /"status":"standby"/.test(text)) return;
    process.stderr.write(`${where}: status ${response.statusCode}\n`);
    process.exitCode = 1;
  });
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 s')));
request.on('error', (error) => {
  process.stderr.write(`${where}: ${error.message}; does its configuration in /config have host 0.0.0.0?\n`);
  process.exitCode = 1;
});
