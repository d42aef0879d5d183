import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Usage } from '#kit/model-answers/usage.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { UpstreamFailure } from '../providers/failure.ts';
import type { ModelCall, Upstream, UpstreamAnswer } from '../providers/upstream.ts';
import { Recorder } from './recorder.ts';
import { Replay } from './replay.ts';

const usage = { input: 10, output: 5, cached: 2, cache_writes: 0 };
const secret = 'the-planted-credential-9f8e7d6c';
const token = `ghp_${'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6'.slice(0, 36)}`;

function call(request: object, stream = false): ModelCall {
  const body = { model: 'large', messages: [{ role: 'user', content: 'hello' }], stream, ...request };
  return {
    endpoint: 'chat/completions',
    bytes: Buffer.from(JSON.stringify(body)),
    request: body,
    stream,
    includeUsage: false,
    signal: new AbortController().signal,
  };
}

async function bytesOf(answer: UpstreamAnswer): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for await (const piece of answer.body) pieces.push(Buffer.from(piece));
  return pieces;
}

/** An upstream that answers with these pieces, one list for each call. */
function answering(...answers: (readonly (Buffer | Error)[])[]): Upstream {
  return counting(usage, ...answers);
}

function counting(usage: Usage, ...answers: (readonly (Buffer | Error)[])[]): Upstream {
  let asked = 0;
  return {
    name: 'example.org/model',
    async send() {
      const pieces = answers[Math.min(asked++, answers.length - 1)]!;
      if (pieces[0] instanceof Error) throw pieces[0];
      async function* body(): AsyncGenerator<Uint8Array> {
        for (const piece of pieces) {
          if (piece instanceof Error) throw piece;
          yield piece;
        }
      }
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, body: body(), usage: () => usage };
    },
  };
}

function failure(status: number, remedy: 'retry' | 'none'): UpstreamFailure {
  const error = { message: `no, ${secret}`, type: 'server_error', param: null, code: 'overloaded' };
  return new UpstreamFailure({ status, error, remedy });
}

const caught = (work: Promise<unknown>): Promise<UpstreamFailure> =>
  work.then(
    () => expect.fail('it was expected to fail'),
    (error) => error,
  );

describe('recordings', () => {
  let folder: string;
  let warnings: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-recordings-'));
    warnings = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function recorded(upstream: Upstream): Upstream {
    const redactor = new Redactor();
    redactor.addSecret(secret);
    return new Recorder({ folder, redactor, warn: (message) => warnings.push(message) }).around(upstream);
  }
  const replayed = () => new Replay(folder).upstream();
  const files = () => readdirSync(folder).sort();
  const contentOf = () =>
    files()
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n');

  it('come back as the same bytes in the same pieces, half characters too', async () => {
    const text = Buffer.from('data: {"x":"東京"}\n\n');
    const pieces = [text.subarray(0, 13), text.subarray(13), Buffer.from('data: [DONE]\n\n')];
    const live = recorded(answering(pieces));
    expect(await bytesOf(await live.send(call({}, true)))).to.deep.equal(pieces);
    const again = await replayed().send(call({}, true));
    expect(await bytesOf(again)).to.deep.equal(pieces);
    expect(again.usage()).to.deep.equal(usage);
    expect(again.headers).to.deep.equal({ 'content-type': 'application/json' });
  });

  it('keep the marks of a usage that is impossible or not whole', async () => {
    for (const marks of [{ contradictory: true }, { inputIsPartial: true, outputIsPartial: true }] as const) {
      const marked = { ...usage, ...marks };
      const name = Object.keys(marks).join(' ');
      await bytesOf(
        await recorded(counting(marked, [Buffer.from('yes')])).send(call({ user: 'mira', name })),
      );
      expect((await replayed().send(call({ user: 'mira', name }))).usage()).to.deep.equal(marked);
    }
  });

  it('answer identical requests in their order, and the last one from then on; also after the recorder starts again', async () => {
    for (const word of ['one', 'two', 'three']) {
      await bytesOf(await recorded(answering([Buffer.from(word)])).send(call({})));
    }
    const replay = replayed();
    const words: string[] = [];
    for (let asked = 0; asked < 4; asked++)
      words.push(Buffer.concat(await bytesOf(await replay.send(call({})))).toString());
    expect(words).to.deep.equal(['one', 'two', 'three', 'three']);
  });

  it('are found whatever the order of members, the person, and what changes from run to run', async () => {
    const asked = (at: string, took: string, user: string) =>
      call({
        user,
        temperature: 0,
        messages: [
          { role: 'user', content: `it began at ${at} in /tmp/core-${user}/x and took duration_ms ${took}` },
        ],
      });
    const live = recorded(answering([Buffer.from('yes')]));
    await bytesOf(await live.send(asked('2026-11-22T03:04:05.678Z', '12.5', 'mira')));
    await bytesOf(await replayed().send(asked('2027-01-02T13:14:15Z', '9', 'ada')));
    const failed = await caught(
      replayed().send(
        call({ temperature: 1, messages: asked('2027-01-02T13:14:15Z', '9', 'ada').request.messages }),
      ),
    );
    expect(failed.status).to.equal(404);
  });

  it('say which are the nearest, and where they differ, when there is none', async () => {
    const first = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'hello' },
    ];
    const live = recorded(answering([Buffer.from('hi')]));
    await bytesOf(await live.send(call({ messages: first })));
    const [file] = files();
    const other = await caught(
      replayed().send(call({ messages: [first[0], { role: 'user', content: 'bye' }] })),
    );
    expect(other).to.include({ status: 404, code: 'recording_not_found', remedy: 'none' });
    expect(other.message).to.contain(`${file} (messages[1] is another)`);
    const longer = await caught(replayed().send(call({ messages: [...first, ...first] })));
    expect(longer.message).to.contain(`${file} (it has 2 messages, this request 4)`);
    const warmer = await caught(replayed().send(call({ messages: first, temperature: 1 })));
    expect(warmer.message).to.contain(`${file} (temperature differ`);
    rmSync(join(folder, file!));
    expect((await caught(replayed().send(call({})))).message).to.contain('holds none');
  });

  it('hold no credential and no secret, also where a model writes it in pieces', async () => {
    const delta = (content: string) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
    const pieces = [
      delta('it is '),
      delta(token.slice(0, 11)),
      delta(token.slice(11)),
      delta(' and no other'),
    ];
    const whole = [
      Buffer.from(`{"text":"${secret.slice(0, 9)}`),
      Buffer.from(`${secret.slice(9)} ${token}"}`),
    ];
    const messages = [{ role: 'user', content: `keys: ${secret}, ${token}` }];
    await bytesOf(await recorded(answering(pieces)).send(call({ messages }, true)));
    await bytesOf(await recorded(answering(whole)).send(call({ messages })));
    expect(contentOf()).to.not.contain(secret).and.not.contain(token).and.not.contain(token.slice(11));

    const hidden = [{ role: 'user', content: 'keys: [redacted], [redacted github_token]' }];
    const events = Buffer.concat(
      await bytesOf(await replayed().send(call({ messages: hidden }, true))),
    ).toString();
    const text = [...events.matchAll(/"content":"(.*?)"/g)].map(([, piece]) => piece).join('');
    expect(text).to.equal('it is [redacted github_token] and no other');
    const answer = await replayed().send(call({ messages: hidden }));
    const served = Buffer.concat(await bytesOf(answer));
    expect(JSON.parse(served.toString())).to.have.property('text');
    expect(answer.headers['content-length'] ?? String(served.length)).to.equal(String(served.length));
  });

  it('hold no secret in whichever member of a delta a model writes it, nor in escapes', async () => {
    const halves = [token.slice(0, 11), token.slice(11)];
    const deltas: ((text: string) => object)[] = [
      (text) => ({ reasoning_content: text }),
      (text) => ({ reasoning: text }),
      (text) => ({ function_call: { arguments: text } }),
      (text) => ({ audio: { transcript: text } }),
      (text) => ({ content: [{ type: 'text', text }] }),
      (text) => ({ tool_calls: [{ index: 3, function: { arguments: text } }] }),
      (text) => ({ brand_new: { deep: [{ said: text }] } }),
    ];
    const event = (delta: object) =>
      Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
    for (const [index, of] of deltas.entries()) {
      const pieces = ['it is ', ...halves, ' indeed'].map((text) => event(of(text)));
      await bytesOf(await recorded(answering(pieces)).send(call({ n: index }, true)));
    }
    const escaped = `\\u0067${token.slice(1)}`;
    const whole = Buffer.from(`{"choices":[{"message":{"content":"it is ${escaped}"}}]}`);
    await bytesOf(await recorded(answering([whole])).send(call({ whole: true })));
    const streamed = Buffer.from(
      `data: {"choices":[{"index":0,\ndata: "delta":{"content":"${escaped}"}}]}\n\n`,
    );
    await bytesOf(await recorded(answering([streamed])).send(call({ streamed: true }, true)));
    expect(files()).to.have.length(deltas.length + 2);
    for (const part of [token, token.slice(11), token.slice(1)]) expect(contentOf()).to.not.contain(part);
  });

  it('take no name that another gateway has taken meanwhile', async () => {
    const [one, two] = [recorded(answering([Buffer.from('1')])), recorded(answering([Buffer.from('2')]))];
    for (const live of [one, two, one]) await bytesOf(await live.send(call({})));
    expect(files()).to.have.length(3);
    expect(new Replay(folder).size).to.equal(3);
  });

  it('are found by a request with half a character', async () => {
    const messages = [{ role: 'user', content: 'half \ud83d' }];
    await bytesOf(await recorded(answering([Buffer.from('yes')])).send(call({ messages })));
    expect(Buffer.concat(await bytesOf(await replayed().send(call({ messages })))).toString()).to.equal(
      'yes',
    );
  });

  it('keep refusals and streams that broke, and leave out what another attempt can mend', async () => {
    const broken = recorded(answering([Buffer.from('data: {"a":1}\n\n'), failure(502, 'retry')]));
    await caught(bytesOf(await broken.send(call({}, true))));
    await caught(recorded(answering([failure(529, 'retry')])).send(call({ n: 1 })));
    expect(files()).to.have.length(1);
    await caught(recorded(answering([failure(400, 'none')])).send(call({ n: 2 })));
    expect(contentOf()).to.not.contain(secret);

    const answer = await replayed().send(call({}, true));
    const failed = await caught(bytesOf(answer));
    expect(failed).to.include({ status: 502, code: 'overloaded' });
    expect(await caught(replayed().send(call({ n: 2 })))).to.include({ status: 400, remedy: 'none' });
  });

  it('are not made of what a client left', async () => {
    const live = recorded(answering([Buffer.from('a'), Buffer.from('b')]));
    for await (const _ of (await live.send(call({}, true))).body) break;
    expect(files()).to.deep.equal([]);
  });

  it('are skipped by name if they are damaged or of another kind', async () => {
    await bytesOf(await recorded(answering([Buffer.from('whole')])).send(call({})));
    const [whole] = files();
    const text = readFileSync(join(folder, whole!), 'utf8');
    writeFileSync(join(folder, `${'0'.repeat(16)}-0001.json`), text.slice(0, 200));
    writeFileSync(join(folder, `.${whole}.8f.tmp`), text.slice(0, 100));
    writeFileSync(join(folder, `${'1'.repeat(16)}-0001.json`), text.replace('"format": 1', '"format": 2'));
    writeFileSync(join(folder, 'notes.json'), '{}');
    const replay = new Replay(folder);
    expect(replay.size).to.equal(1);
    const reasons = Object.fromEntries(replay.skipped.map(({ file, why }) => [file, why]));
    expect(Object.keys(reasons)).to.have.length(4);
    expect(reasons[`${'0'.repeat(16)}-0001.json`]).to.match(/is not JSON/);
    expect(reasons[`${'1'.repeat(16)}-0001.json`]).to.match(/\/format/);
    expect(reasons[`.${whole}.8f.tmp`]).to.match(/not finished/);
    expect(Buffer.concat(await bytesOf(await replay.upstream().send(call({})))).toString()).to.equal('whole');
  });

  it('are files of the folder itself: a pipe does not block the start, and the target of a link is not shown', async () => {
    execFileSync('mkfifo', [join(folder, '0123456789abcdef-0001.json')]);
    const other = join(folder, 'private');
    writeFileSync(other, secret);
    symlinkSync(other, join(folder, '0123456789abcdef-0002.json'));
    const { skipped, size } = new Replay(folder);
    expect(size).to.equal(0);
    expect(skipped.map(({ why }) => why)).to.deep.equal([
      '0123456789abcdef-0001.json is no ordinary file',
      '0123456789abcdef-0002.json is no ordinary file',
    ]);
  });

  it('give only those headers on that an upstream could have given', async () => {
    await bytesOf(await recorded(answering([Buffer.from('{}')])).send(call({})));
    const [file] = readdirSync(folder);
    const recording = JSON.parse(readFileSync(join(folder, file!), 'utf8'));
    Object.assign(recording.answer.headers, {
      'set-cookie': 'a=b',
      'x-request-id': 'a\r\nb',
      'retry-after': '1',
    });
    writeFileSync(join(folder, file!), JSON.stringify(recording));
    const { headers } = await new Replay(folder).upstream().send(call({}));
    expect(Object.keys(headers).sort()).to.deep.equal(['content-length', 'content-type', 'retry-after']);
  });

  it('do not stand in the way of a conversation that cannot be recorded', async () => {
    const live = recorded(answering([Buffer.from('yes')]));
    rmSync(folder, { recursive: true });
    writeFileSync(folder, 'a file in its place');
    expect(Buffer.concat(await bytesOf(await live.send(call({})))).toString()).to.equal('yes');
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain(folder);
    expect(() => new Recorder({ folder, redactor: new Redactor(), warn: () => {} })).to.throw(
      /cannot be made/,
    );
  });

  it('stop when the client leaves', async () => {
    const slow: Upstream = {
      name: 'slow',
      async send() {
        async function* body(): AsyncGenerator<Uint8Array> {
          for (const piece of ['a', 'b', 'c']) {
            await new Promise((resolve) => setTimeout(resolve, 2));
            yield Buffer.from(piece);
          }
        }
        return { status: 200, headers: {}, body: body(), usage: () => null };
      },
    };
    await bytesOf(await recorded(slow).send(call({}, true)));
    const replay = new Replay(folder).upstream();
    const leaving = new AbortController();
    const answer = await replay.send({ ...call({}, true), signal: leaving.signal });
    const heard: string[] = [];
    await caught(
      (async () => {
        for await (const piece of answer.body) {
          heard.push(Buffer.from(piece).toString());
          leaving.abort();
        }
      })(),
    );
    expect(heard).to.deep.equal(['a']);
  });
});
