import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { becomes, type ContextHost, useContextHosts } from '../fixtures/context/context-host.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

const rounds = 2;
const clients = 4;
const perClient = 20;
const served = ['ok', 'degraded'];

interface Acknowledged {
  readonly client: string;
  readonly id: string;
  readonly content: string;
}

describeWith(['s3', 'postgres'], 'core-context that is killed again and again under load', function () {
  this.timeout(180_000);
  const place = useContextHosts();

  /** As a client behind the proxy of the guide: whoever does not take it, the other is asked. */
  async function remember(
    content: string,
    [first, second]: readonly [ContextHost, ContextHost],
  ): Promise<string> {
    for (;;) {
      for (const host of [first, second]) {
        const answer = await host.post('/v1/memory/record', { layer: 'semantic', content }).catch(() => null);
        if (answer?.status === 201 || answer?.status === 200) return answer.json.id as string;
        if (answer !== null && answer.status !== 503)
          throw new Error(`${answer.status} ${JSON.stringify(answer.json)}`);
      }
      await pause(50);
    }
  }

  function memories({ record }: ContextHost): { id: string; content: string }[] {
    const db = new DatabaseSync(record, { readOnly: true });
    try {
      return db.prepare('SELECT id, content FROM memories ORDER BY memory').all() as never;
    } finally {
      db.close();
    }
  }

  it('keeps each acknowledged memory, once and in the order of its client', async () => {
    let [active, next] = [await place.make(), await place.make()];
    active.start();
    await becomes(active, served);
    const acknowledged: Acknowledged[] = [];
    for (let round = 1; round <= rounds; round++) {
      next.start();
      await becomes(next, ['standby']);
      const killAt = acknowledged.length + 1 + Math.floor(Math.random() * (clients * perClient * 0.9));
      const [dying, taking] = [active, next];
      let killed = false;
      await Promise.all(
        Array.from({ length: clients }, async (_, index) => {
          const client = `client ${index}`;
          for (let n = 1; n <= perClient; n++) {
            const content = `${client} says number ${n} of round ${round}`;
            const id = await remember(content, killed ? [taking, dying] : [dying, taking]);
            acknowledged.push({ client, id, content });
            if (acknowledged.length >= killAt && !killed) {
              killed = true;
              dying.signal('SIGKILL');
            }
          }
        }),
      );
      await dying.ended();
      [active, next] = [taking, dying];
    }
    const found = memories(active);
    expect(acknowledged).to.have.length(rounds * clients * perClient);
    const ids = new Set(found.map(({ id }) => id));
    expect(acknowledged.filter(({ id }) => !ids.has(id))).to.deep.equal([]);
    expect(new Set(found.map(({ content }) => content)).size).to.equal(found.length);
    expect(found).to.have.length(acknowledged.length);
    for (let index = 0; index < clients; index++) {
      const client = `client ${index}`;
      const said = acknowledged.filter((one) => one.client === client).map(({ content }) => content);
      expect(
        found.map(({ content }) => content).filter((content) => content.startsWith(client)),
      ).to.deep.equal(said);
    }
  });

  it('has one active when two start at the very same time', async () => {
    const [one, other] = [await place.make(), await place.make()];
    one.start();
    other.start();
    await Promise.all([becomes(one, [...served, 'standby']), becomes(other, [...served, 'standby'])]);
    const ask = () => Promise.all([one.health(), other.health()]);
    await until('one that is active', async () => (await ask()).some((health) => served.includes(health!)));
    const healths = await ask();
    expect(healths.filter((health) => health === 'standby')).to.have.length(1);
    expect(healths.filter((health) => served.includes(health!))).to.have.length(1);
  });
});
