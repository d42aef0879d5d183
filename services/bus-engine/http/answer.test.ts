import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { Channels } from '../channels/channels.ts';
import { answerFrom } from './answer.ts';

describe('an answer that a function writes piece by piece', () => {
  for (const status of [200, 204, 304]) {
    it(`passes over a trailer, also to a client of HTTP/1.0 and with status ${status}`, async () => {
      const channel = new Channels(() => performance.now()).open()!.channel;
      const passedOver: string[] = [];
      const server = createServer((_request, response) => {
        answerFrom(channel, response, { passedOver: (why) => passedOver.push(why), done: () => {} }).catch(
          (error) => response.destroy(error),
        );
        channel.join(() => {});
        channel.write(JSON.stringify({ type: 'set_status', status_code: status }));
        channel.write(JSON.stringify({ type: 'set_headers', headers: { Trailer: 'X-Sum', 'X-Own': 'yes' } }));
        channel.end();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
        socket.end('GET / HTTP/1.0\r\n\r\n');
        const answer = await text(socket);
        expect(answer)
          .to.contain(` ${status} `)
          .and.contain('x-own: yes')
          .and.not.match(/trailer/i);
        expect(passedOver).to.deep.equal(['trailer is set by the engine']);
      } finally {
        server.close();
      }
    });
  }
});
