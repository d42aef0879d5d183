import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { expect } from 'chai';
import * as t from 'io-ts';
import { CoreError } from '../errors.ts';
import { createHttpClient, type HttpClient } from './client.ts';

const token = `core_mira_${'0123456789abcdef'.repeat(3)}`;

/** What a server says that gives back the credentials it was sent. */
describe('A token that a server sends back', () => {
  let server: Server;
  let client: HttpClient;

  beforeEach(async () => {
    server = createServer((request, response) => {
      const said = `token ${request.headers.authorization} refused`;
      if (request.url === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`data: ${said}\n\n`);
        return;
      }
      const encoded = Buffer.from(token).toString('base64');
      const problem = {
        type: 'about:blank',
        title: said,
        detail: said,
        hint: encoded,
        code: 'no',
        status: 401,
      };
      response.writeHead(request.url === '/answer' ? 200 : 401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(request.url === '/answer' ? { said } : problem));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    client = createHttpClient({ baseUrl: `http://127.0.0.1:${port}`, token });
  });
  afterEach(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });

  it('is in no error, in none of its forms', async () => {
    const error = await client.get('/refused', t.unknown).then(
      () => null,
      (thrown: CoreError) => thrown,
    );
    expect(error).to.be.instanceOf(CoreError);
    const { message, hint, facts, errors } = error!;
    const all = JSON.stringify([message, hint, facts, errors]);
    expect(all).to.contain('[redacted').and.to.contain('refused');
    expect(all).not.to.contain(token).and.not.to.contain(Buffer.from(token).toString('base64'));
  });

  it('is in no answer and in no event', async () => {
    const answer = await client.get('/answer', t.strict({ said: t.string }));
    expect(answer.said).to.equal('token Bearer [redacted] refused');
    for await (const { data } of client.events('/events'))
      expect(data).to.equal('token Bearer [redacted] refused');
  });
});
