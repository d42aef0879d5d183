import { expect } from 'chai';
import type { EventView, IngressReply } from '#kit/contracts/bridge/events.ts';
import type { Problem } from '#kit/contracts/problem.ts';
import type { RunningBridge } from '../fixtures/bridge/bridge-service.ts';

/** The configured limit: small, so that a body of more is read all the same before its refusal is. */
export const bodyBytes = 4_096;

export interface Delivery {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** One kind of sender, as it really sends. */
export interface IngressBench {
  readonly path: string;
  readonly signatureHeader: string;
  /** A genuine delivery about issue 1 of demo/hello. @param id names it */
  deliver(
    id: string,
    change?: { readonly title?: string; readonly secret?: string; readonly labels?: readonly string[] },
  ): Delivery;
  /** The event's id that follows from the id of a delivery. */
  eventId(id: string): string;
}

/** What every kind of sender of events is held to. */
export function ingressContract(bridge: () => RunningBridge, bench: IngressBench): void {
  const send = ({ body, headers }: Delivery) => bridge().post(bench.path, body, headers);
  const refusal = async (delivery: Delivery) => {
    const { status, body } = await send(delivery);
    return `${status} ${(body as Problem).code}`;
  };
  const { signatureHeader } = bench;

  it('is taken when it is signed, and is pending for the issue that it is about', async () => {
    const { status, body } = await send(bench.deliver('one'));
    expect(status).to.equal(202);
    expect(body as IngressReply).to.deep.include({
      event_id: bench.eventId('one'),
      state: 'pending',
      duplicate: false,
      target: { forge: 'work', owner: 'demo', repo: 'hello', number: 1 },
      role: { key: 'default', name: 'Depute' },
      reason: null,
    });
    const { body: event } = await bridge().get(`/v1/events/${encodeURIComponent(bench.eventId('one'))}`);
    expect((event as EventView).by).to.match(/^signature:/);
  });

  it('is taken with a token of scope plan in place of a signature', async () => {
    const { body, headers } = bench.deliver('token', { title: 'by token' });
    const { [signatureHeader]: _, ...unsigned } = headers;
    const withToken = { body, headers: { ...unsigned, authorization: `Bearer ${bridge().token}` } };
    expect((await send(withToken)).status).to.equal(202);
    expect(await refusal({ body, headers: { ...unsigned, authorization: 'Bearer wrong' } })).to.equal(
      '401 token_invalid',
    );
  });

  it('is one event however often it is delivered', async () => {
    const delivery = bench.deliver('again', { title: 'again' });
    const answers = await Promise.all(Array.from({ length: 50 }, () => send(delivery)));
    const replies = answers.map(({ body }) => body as IngressReply);
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([202]));
    expect(replies.filter(({ duplicate }) => !duplicate)).to.have.length(1);
    expect(new Set(replies.map(({ event_id }) => event_id))).to.deep.equal(new Set([bench.eventId('again')]));
  });

  it('is refused if its id holds a secret, which is shown nowhere', async () => {
    const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
    const { status, body } = await send(bench.deliver(secret, { title: 'secret id' }));
    expect([status, (body as Problem).code]).to.deep.equal([400, 'event_id_holds_secret']);
    const { body: events } = await bridge().get('/v1/events?limit=100');
    expect(JSON.stringify([body, events])).to.not.contain(secret);
    const uuid = '72d3162e-cc78-11e3-81ab-4c9367dc0958';
    expect((await send(bench.deliver(uuid, { title: 'usual id' }))).status).to.equal(202);
  });

  it('is refused when its id came with another content before', async () => {
    await send(bench.deliver('reused', { title: 'first' }));
    expect(await refusal(bench.deliver('reused', { title: 'second' }))).to.equal('409 event_id_reused');
  });

  it('is refused when one byte of it is another', async () => {
    const { body, headers } = bench.deliver('bytes', { title: 'bytes' });
    const other = Buffer.from(body.toString().replace('hello', 'hellp'));
    expect(await refusal({ body: other, headers })).to.equal('401 signature_invalid');
    expect(await refusal({ body: Buffer.concat([body, Buffer.from(' ')]), headers })).to.equal(
      '401 signature_invalid',
    );
  });

  it('is refused when it is signed with another secret, with none, or with something else', async () => {
    expect(await refusal(bench.deliver('x', { secret: 'x'.repeat(40) }))).to.equal('401 signature_invalid');
    const { body, headers } = bench.deliver('x');
    const { [signatureHeader]: good = '', ...unsigned } = headers;
    expect(await refusal({ body, headers: unsigned })).to.equal('401 signature_missing');
    for (const bad of [
      good.slice(0, -1),
      `${good}0`,
      good.replace(/.$/, 'g'),
      'sha256=',
      'x',
      `SHA1=${good}`,
    ])
      expect(await refusal({ body, headers: { ...headers, [signatureHeader]: bad } })).to.equal(
        '401 signature_invalid',
      );
  });

  it('keeps a hostile title as what it is: data', async () => {
    const title = '$(rm -rf /) `id` \u0000\u001b]0;x\u0007 \u202e ../../etc/passwd "}],"role":"executor';
    await send(bench.deliver('hostile', { title }));
    const path = `/v1/events/${encodeURIComponent(bench.eventId('hostile'))}`;
    const event = (await bridge().get(path)).body as EventView;
    expect(event.issue.title).to.equal(title);
    expect(event.role?.key).to.equal('default');
  });

  it('lets a label choose the role, out of the list of this installation', async () => {
    const { body } = await send(bench.deliver('label', { labels: ['core:triage'], title: 'label' }));
    expect((body as IngressReply).role).to.deep.equal({ key: 'triage', name: 'Avisour' });
  });

  it('is refused when it is no JSON, not in UTF-8, or too large', async () => {
    const authorization = `Bearer ${bridge().token}`;
    const headers = { ...bench.deliver('x').headers, authorization };
    expect(await refusal({ body: Buffer.from('{"a":'), headers })).to.equal('400 invalid_json');
    expect(await refusal({ body: Buffer.from([0x22, 0xff, 0x22]), headers })).to.equal('400 invalid_json');
    expect(await refusal({ body: Buffer.alloc(bodyBytes + 1, ' '), headers })).to.equal('413 body_too_large');
    const text = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    expect(await refusal({ body: Buffer.from('payload=x'), headers: text })).to.equal(
      '415 content_type_not_supported',
    );
  });
}
