import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { announceService } from '#kit/config/running-service.ts';
import { readSettings } from '#kit/config/settings.ts';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import { environment } from '#kit/environment.ts';
import { silentLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens } from '#kit/tokens/tokens.ts';
import { isSigned, signatureHeader, timestampHeader } from '#kit/webhooks/signature.ts';
import { openNotifications } from '../../services/agentd/notifications/compose.ts';
import { NotificationRows } from '../../services/agentd/notifications/notification-rows.ts';
import type { Notifier } from '../../services/agentd/notifications/notifier.ts';
import { readPolicy } from '../../services/agentd/policy.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { planned, sampleRequest } from '../contract/run-store.sample.ts';
import { unsigned } from '../fixtures/approved/unsigned.ts';
import { type CuttingProxy, startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { failure } from '../fixtures/failure.ts';
import { type MailServer, startMailServer } from '../fixtures/notifications/mail-server.ts';
import { type Receiver, startReceiver } from '../fixtures/notifications/receiver.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { makeSelfSigned } from '../fixtures/self-signed.ts';
import { until } from '../fixtures/until.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith, itWith } from '../needs.ts';

const secret = 'a-secret-for-signatures-of-webhooks';
const hour = 3_600_000;

describe('notifications', () => {
  let world: World;
  let receiver: Receiver;
  let started: Notifier[];
  let stores: DatabaseRunStore[];

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    receiver = await startReceiver();
    started = [];
    stores = [];
    mkdirSync(join(world.home, 'config/secrets'), { recursive: true });
    for (const name of ['mira', 'jo'])
      createToken({ tokens: join(world.home, 'config/tokens') }, { name, scopes: ['approve', 'execute'] });
    write('secrets/hook', secret);
    write('secrets/chat', `${receiver.url}/chat/T0/B0/secret-of-the-address`);
  });

  afterEach(async () => {
    for (const notifier of started) await notifier.close();
    for (const store of stores) store.close();
    await receiver.close();
    await world.close();
  });

  const write = (path: string, content: string) => writeFileSync(join(world.home, 'config', path), content);
  const configure = (people: object, more: object = {}) =>
    write('notifications.json', JSON.stringify({ people, ...more }));
  const hook = () => ({ webhook: { url: `${receiver.url}/hook`, secret_file: 'hook' } });
  const bodies = () => receiver.received.map(({ body }) => JSON.parse(body));
  const headlines = () =>
    bodies().map(({ notices }) => notices.map((one: { headline: string }) => one.headline));

  /** The configuration of this home, with its tables in a database. */
  function configWith(postgres: PostgresSettings): string {
    const config = temporaryFolder();
    cpSync(join(world.home, 'config'), config, { recursive: true });
    writeFileSync(join(config, 'core.json'), JSON.stringify({ storage: { kind: 'postgres', ...postgres } }));
    return config;
  }

  /** As core-agentd of this home starts it. */
  function open(
    now: () => number = Date.now,
    postgres: PostgresSettings | null = null,
    runs: DatabaseRunStore | null = null,
  ) {
    const folders = {
      state: join(world.home, 'state'),
      config: postgres === null ? join(world.home, 'config') : configWith(postgres),
      secrets: join(world.home, 'config/secrets'),
    };
    const store = runs ?? runStoreIn(folders.state);
    if (store instanceof DatabaseRunStore) stores.push(store);
    const tokens = openTokens({ tokens: join(world.home, 'config/tokens') });
    const notifications = openNotifications({
      folders,
      store,
      now,
      settings: readSettings({ folders, environment }),
      redactor: new Redactor(),
      approvals: async () => ({
        forges: ['local'],
        policy: readPolicy(folders),
        tokens: tokens.list(),
        signatures: unsigned,
      }),
    });
    const notifier = notifications.notifier(silentLogger);
    started.push(notifier);
    return { notifier, notifications };
  }

  async function notify(notifier: Notifier): Promise<void> {
    await notifier.tick();
    await notifier.settled();
  }

  async function plannedRun(title = 'Greet strangers'): Promise<Run> {
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`, title);
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  }

  it('tells each person once that a run waits, signed, without the patch, and with a link', async () => {
    configure({ mira: { channels: hook() } }, { page_url: 'https://core.example.org/' });
    const { notifier } = open();
    await notify(notifier);
    const run = await plannedRun();
    await notify(notifier);
    await notify(notifier);
    expect(receiver.received).to.have.length(1);
    const [{ headers, body }] = receiver.received as [Receiver['received'][number]];
    const given = String(headers[signatureHeader]).replace('sha256=', '');
    const timestamp = String(headers[timestampHeader]);
    expect(isSigned(given, [Buffer.from(secret)], timestamp, Buffer.from(body))).to.equal(true);
    expect(headers['idempotency-key']).to.match(/^[0-9a-f]{64}$/);
    const { person, notices } = JSON.parse(body);
    expect([person, notices.length]).to.deep.equal(['mira', 1]);
    expect(notices[0]).to.include({
      event: 'waits_for_you',
      run_id: run.run_id,
      url: `https://core.example.org/runs/${run.run_id}`,
      text: '4 actions of the build gate; patch by mira (contributor, no write access), in the issue',
    });
    expect(body).to.not.contain('stranger.');
  });

  it('links to where core-agentd of this home listens, if no address is configured', async () => {
    configure({ mira: { channels: hook() } });
    const { notifier } = open();
    await notify(notifier);
    const address = { url: 'http://127.0.0.1:7999', host: '127.0.0.1', port: 7999 };
    const listening = announceService('core-agentd', { state: join(world.home, 'state') }, address);
    const run = await plannedRun();
    await notify(notifier);
    listening.withdraw();
    const [{ body }] = receiver.received as [Receiver['received'][number]];
    expect(JSON.parse(body).notices[0].url).to.equal(`http://127.0.0.1:7999/runs/${run.run_id}`);
  });

  itWith(['postgres'], 'tells each person once of each thing, by whichever of two daemons', async () => {
    const server = await startPostgres();
    try {
      const settings = await server.database();
      configure({ mira: { channels: hook() }, jo: { channels: hook() } });
      const daemons = [open(Date.now, settings).notifier, open(Date.now, settings).notifier];
      const notifyAll = () => Promise.all(daemons.map(notify));
      await notifyAll();
      for (let nth = 0; nth < 3; nth++) {
        await plannedRun(`Greet stranger ${nth}`);
        await notifyAll();
      }
      await notifyAll();
      const told = bodies().flatMap(({ person, notices }) =>
        notices.map(({ id }: { id: string }) => `${person} ${id}`),
      );
      expect(told).to.have.length(6);
      expect(new Set(told).size).to.equal(6);
      for (const notifier of started.splice(0)) await notifier.close();
    } finally {
      await server.stop();
    }
  });

  describeWith(['postgres'], 'where the database does not answer at times', () => {
    let server: PostgresServer;
    let settings: PostgresSettings;
    let proxy: CuttingProxy;
    let runs: DatabaseRunStore;
    let notifier: Notifier;

    before(async () => {
      server = await startPostgres();
    });
    after(() => server.stop());

    beforeEach(async () => {
      settings = await server.database();
      proxy = await startCuttingProxy(settings);
      runs = new DatabaseRunStore({
        stateDir: join(world.home, 'state'),
        database: openPostgres(proxy.settings, 'core-test', { schema: agentdSchema }),
      });
      configure({ mira: { channels: hook() } });
      ({ notifier } = open(Date.now, proxy.settings, runs));
      await notify(notifier);
      const { run_id } = await runs.create(sampleRequest());
      await runs.append(run_id, () => planned(run_id));
    });
    afterEach(async () => {
      for (const one of started.splice(0)) await one.close();
      await runs.close();
      await proxy.close();
    });

    const reading = 'runs.tombstone, leases.boot_id';
    const states = async () =>
      (await server.ask<{ state: string }>(settings, 'SELECT state FROM notification_jobs')).map(
        ({ state }) => state,
      );

    it('looks again at a run that could not be read', async () => {
      proxy.cutBefore(reading);
      await failure(notifier.tick());
      await notify(notifier);
      expect(receiver.received).to.have.length(1);
    });

    it('leaves out nothing because its run could not be read when it was to be sent', async () => {
      await notifier.look();
      proxy.cutBefore(reading);
      await notify(notifier);
      expect(await states()).to.deep.equal(['processing']);
      await server.ask(settings, 'UPDATE notification_jobs SET claimed_until = 0');
      await notify(notifier);
      expect([receiver.received.length, await states()]).to.deep.equal([1, ['done']]);
    });

    it('does not send again what it could not record at once', async () => {
      proxy.cutBefore('SET state = $3');
      await notify(notifier);
      expect([receiver.received.length, await states()]).to.deep.equal([1, ['done']]);
    });
  });

  it('tells nothing that happened before somebody was to be told', async () => {
    await plannedRun();
    configure({ mira: { channels: hook() } });
    const { notifier } = open();
    await notify(notifier);
    expect(receiver.received).to.deep.equal([]);
  });

  it('tells only whose approval counts, of the events and repositories that they chose', async () => {
    write(
      'policy.json',
      JSON.stringify({
        people: { mira: {}, jo: {} },
        approval: { rules: [{ name: 'another', not_requester: true, gates: ['build'] }] },
      }),
    );
    configure({
      mira: { channels: hook() },
      jo: { channels: hook() },
      other: { channels: hook(), repositories: ['acme/*'] },
      late: { channels: hook(), events: ['merged'] },
    });
    const { notifier } = open();
    await notify(notifier);
    const number = await world.newIssue(`\`\`\`diff\n${greetPatch}\`\`\`\n`);
    await world.agent.planIssue({ ...ref, number, by: { ...everybody, name: 'mira' } }, quiet);
    await notify(notifier);
    expect(bodies().map(({ person }) => person)).to.deep.equal(['jo']);
  });

  it('sends after a crash what was queued, and once what was being sent', async () => {
    configure({ mira: { channels: hook() } });
    let now = Date.now();
    const first = open(() => now);
    await notify(first.notifier);
    await plannedRun();
    await first.notifier.look();
    await first.notifier.close();
    const second = open(() => now);
    await notify(second.notifier);
    expect(receiver.received).to.have.length(1);
    now += 24 * hour;
    const third = open(() => now);
    await notify(third.notifier);
    expect(receiver.received).to.have.length(1);
  });

  it('holds back in quiet hours, and sends what still holds as one message when they end', async () => {
    const at = Date.now();
    let now = at;
    const zone = 'UTC';
    const clock = (time: number) => new Date(time).toISOString().slice(11, 16);
    const quiet_hours = { from: clock(at - hour), to: clock(at + 2 * hour), zone };
    configure({ mira: { channels: hook(), quiet_hours }, jo: { channels: hook() } });
    const { notifier } = open(() => now);
    await notify(notifier);
    await plannedRun('One');
    const gone = await plannedRun('Two');
    await plannedRun('Three');
    await notify(notifier);
    expect(bodies().map(({ person }) => person)).to.deep.equal(['jo']);
    await world.agent.cancel({ run_id: gone.run_id, by: everybody, reason: null });
    now = at + 2 * hour + 60_000;
    await notify(notifier);
    expect(bodies().map(({ person }) => person)).to.deep.equal(['jo', 'mira']);
    expect(
      headlines()[1]
        .map((line: string) => line.split(' ').at(-1))
        .sort(),
    ).to.deep.equal(['One', 'Three']);
  });

  it('leaves a receiver alone as long as it asks, delays nobody else, and says so', async () => {
    const other = await startReceiver();
    configure({
      mira: { channels: hook() },
      jo: { channels: { webhook: { url: other.url, secret_file: 'hook' } } },
    });
    let now = Date.now();
    const { notifier, notifications } = open(() => now);
    await notify(notifier);
    receiver.answers.push({ status: 429, headers: { 'retry-after': '1200' } });
    await plannedRun('One');
    await notify(notifier);
    await plannedRun('Two');
    await notify(notifier);
    expect([receiver.received.length, other.received.length]).to.deep.equal([1, 2]);
    expect(await notifications.health()).to.include({ status: 'degraded' });
    expect((await notifications.health()).detail).to.contain('webhook of mira: answered 429');
    expect(await notifications.registry().metrics()).to.contain('agentd_notifications{state="pending"} 2');
    now += 1_201_000;
    await notify(notifier);
    expect(headlines()[1]).to.have.length(2);
    expect(await notifications.health()).to.include({ status: 'ok', detail: '0 to be sent' });
    await other.close();
  });

  it('follows no redirect', async () => {
    configure({ mira: { channels: hook() } });
    const { notifier, notifications } = open();
    await notify(notifier);
    receiver.answers.push({ status: 302, headers: { location: `${receiver.url}/elsewhere` } });
    await plannedRun();
    await notify(notifier);
    expect(receiver.received.map(({ path }) => path)).to.deep.equal(['/hook']);
    expect((await notifications.health()).detail).to.contain('answered 302');
  });

  it('tells of failed plannings, of validations that failed, and of what was merged', async () => {
    configure({ mira: { channels: hook() } });
    const { notifier } = open();
    await notify(notifier);
    const execute = ({ run_id }: Run) =>
      world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );
    const commands = [{ name: 'no', run: 'false' }];
    write(
      'validation.json',
      JSON.stringify({ allow_unsandboxed: true, repositories: { 'demo/hello': { commands } } }),
    );
    await execute(await world.plannedAndApproved());
    write('policy.json', '{"limits": {"files": 1}}');
    await plannedRun().catch(() => {});
    write('policy.json', '{}');
    allowUnsandboxed(world);
    await execute(await world.plannedAndApproved());
    const [pull] = await world.forgeAdmin.listPullRequests(ref, 'open');
    await world.forgeAdmin.mergePullRequest(ref, pull!.number);
    await world.agent.sync({ repository: null, full: false, by: everybody }, quiet);
    await notify(notifier);
    const events = bodies().flatMap(({ notices }) => notices.map((one: { event: string }) => one.event));
    expect(events.sort()).to.deep.equal(['merged', 'planning_failed', 'validation_failed']);
  });

  const hostile =
    'Fix <!channel> & <https://evil.test|this> *now* @all [x](https://evil.test)\u202e www.evil.test';

  it("writes titles as text in Slack's form", async () => {
    configure({ mira: { channels: { slack: { url_file: 'chat' } } } });
    const { notifier } = open();
    await notify(notifier);
    const run = await plannedRun(hostile);
    await notify(notifier);
    const [message] = bodies();
    expect(receiver.received[0]!.path).to.equal('/chat/T0/B0/secret-of-the-address');
    expect(Object.keys(message).sort()).to.deep.equal(['blocks', 'text', 'unfurl_links', 'unfurl_media']);
    expect(message.text).to.contain('&lt;!channel&gt; &amp; &lt;https://evil.test|this&gt;');
    const [section, context] = message.blocks;
    expect(section.text).to.include({ type: 'plain_text', emoji: false });
    expect(section.text.text).to.contain('<!channel>').and.to.not.contain('\u202e');
    expect(section.text.text.length).to.be.at.most(3_000);
    expect(context.elements).to.deep.equal([
      { type: 'mrkdwn', text: `<http://127.0.0.1:7817/runs/${run.run_id}|Open the run>` },
    ]);
  });

  it("writes titles as text in Mattermost's form", async () => {
    configure({ mira: { channels: { mattermost: { url_file: 'chat' } } } });
    const { notifier } = open();
    await notify(notifier);
    const run = await plannedRun(hostile);
    await notify(notifier);
    const [{ text }] = bodies();
    expect(text).to.not.match(/@all|[^\\]\*now|\]\(https:\/\/evil|:\/\/evil\.test|www\.|\u202e/);
    expect(text).to.contain(`[Open the run](http://127.0.0.1:7817/runs/${run.run_id})`);
  });

  describe('by mail', () => {
    let mails: MailServer | null = null;
    const smtp = (more: object = {}) => ({
      host: '127.0.0.1',
      port: mails!.port,
      from: 'core@example.org',
      ...more,
    });
    afterEach(async () => {
      await mails?.close();
      mails = null;
    });

    itWith(
      ['openssl'],
      'goes over verified TLS with the password of a file, and a title adds no header',
      async () => {
        const folder = join(world.home, 'config');
        const { key_file, certificate_file } = makeSelfSigned(folder);
        mails = await startMailServer('core', 'pass-word', {
          cert: readFileSync(certificate_file, 'utf8'),
          key: readFileSync(key_file, 'utf8'),
        });
        write('secrets/mail', 'pass-word\n');
        const login = { user: 'core', password_file: 'mail', tls: 'starttls' };
        const people = { mira: { channels: { mail: { to: 'mira@example.org' } } } };
        configure(people, { smtp: smtp(login) });
        const first = open();
        await notify(first.notifier);
        const run = await plannedRun('Greet\r\nBcc: everybody@evil.test\r\n\r\nstrangers');
        await notify(first.notifier);
        expect(mails!.received).to.deep.equal([]);
        expect((await first.notifications.health()).detail).to.match(/mail of mira: .*certificate/);
        configure(people, { smtp: smtp({ ...login, ca_file: 'certificate.pem' }) });
        const second = open(() => Date.now() + hour);
        await notify(second.notifier);
        const [mail] = mails!.received;
        expect(mail).to.deep.include({
          from: 'core@example.org',
          to: ['mira@example.org'],
          secure: true,
          user: 'core',
        });
        const [head = '', text = ''] = mail!.text.split('\r\n\r\n');
        expect(head).to.not.match(/^bcc:/im);
        expect(head)
          .to.match(/^Subject: Waits for you: demo\/hello#/m)
          .and.to.match(/^Auto-Submitted: auto-generated/m);
        expect(text.replaceAll('=\r\n', '')).to.contain(`/runs/${run.run_id}`);
      },
    );

    it('goes without TLS to this machine alone', async () => {
      mails = await startMailServer('core', 'pass-word', null);
      const people = { mira: { channels: { mail: { to: 'mira@example.org' } } } };
      configure(people, { smtp: smtp({ tls: 'none' }) });
      const { notifier } = open();
      await notify(notifier);
      await plannedRun();
      await notify(notifier);
      expect(mails!.received.map(({ secure }) => secure)).to.deep.equal([false]);
      configure(people, { smtp: smtp({ tls: 'none', host: 'mail.example.org' }) });
      expect(() => open()).to.throw(/mails to mail.example.org must go over TLS/);
    });
  });

  it('keeps what was in force where the file is broken, and names why', async () => {
    configure({ mira: { channels: hook() } });
    const { notifier, notifications } = open();
    await notify(notifier);
    write('notifications.json', '{"people": {"mira": {"channels": {"pigeon": {}}}}}');
    await plannedRun();
    await notify(notifier);
    expect(receiver.received).to.have.length(1);
    expect((await notifications.health()).detail).to.contain(
      '/people/mira/channels/pigeon is not known here',
    );
  });

  for (const [point, times] of [
    ['notification.queued', 1],
    ['notification.sent', 2],
  ] as const)
    it(`is not lost where the daemon dies at ${point}, and is the same message`, async () => {
      configure({ mira: { channels: hook() } });
      await notify(open().notifier);
      const { ended } = world.start(['serve', '--port', '0'], { CORE_CRASH_AT: point });
      await plannedRun();
      expect((await ended).signal).to.equal('SIGKILL');
      expect(receiver.received).to.have.length(times - 1);
      // Longer than the dead one may have kept it to itself.
      const { notifier } = open(() => Date.now() + 120_000);
      await notify(notifier);
      await notify(notifier);
      expect(receiver.received).to.have.length(times);
      expect(new Set(receiver.received.map(({ headers }) => headers['idempotency-key'])).size).to.equal(1);
    });

  it('comes from the daemon, and not again from the next one after it was killed', async () => {
    configure({ mira: { channels: hook() } });
    for (const title of ['One', 'Two']) {
      const { child, ended } = world.start(['serve', '--port', '0']);
      try {
        const rows = new NotificationRows(
          openSqlite(join(world.home, 'state', agentdSchema.file), agentdSchema),
        );
        await until('the daemon to begin its queue', () => rows.exists());
        await rows.close();
        await plannedRun(title);
        await until(`${title} to be told`, () => receiver.received.some(({ body }) => body.includes(title)));
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
    }
    expect(headlines().map(([line]) => line.split(' ').at(-1))).to.deep.equal(['One', 'Two']);
  });

  it('is tested from the command line, which names what is wrong', async () => {
    const programs = join(world.home, 'programs');
    mkdirSync(programs);
    const shown = join(world.home, 'shown');
    writeFileSync(join(programs, 'notify-send'), `#!/bin/sh\nprintf '%s\\n' "$@" > ${shown}\n`, {
      mode: 0o755,
    });
    const PATH = `${programs}:${environment.PATH}`;
    const file = join(world.home, 'config/notifications.json');
    const nobody = await world.command(['notify', 'test'], { PATH });
    expect([nobody.code, nobody.stdout]).to.deep.equal([
      0,
      `Nobody is notified: there is no file ${file}. For example:\n{"people": {"NAME": {"channels": {"desktop": {}}}}}\n`,
    ]);
    configure({ mira: { channels: { ...hook(), desktop: {}, slack: { url_file: 'missing' } } } });
    const tested = await world.command(['notify', 'test', 'mira'], { PATH });
    expect(tested.code).to.equal(5);
    expect(tested.stdout)
      .to.match(/mira +webhook +sent +http:/)
      .and.to.match(/mira +desktop +sent +the desktop/);
    expect(JSON.parse(receiver.received.at(-1)!.body).notices[0].url).to.equal('http://127.0.0.1:7817/');
    expect(tested.stdout).to.match(/mira +slack +not sent .*there is no address of the incoming webhook in/);
    const secret = join(world.home, 'config/secrets/missing');
    expect(tested.stdout).to.contain(`do  Write the address of the incoming webhook into ${secret}.`);
    expect(readFileSync(shown, 'utf8').split('\n').slice(0, 3)).to.deep.equal([
      '--app-name=Core',
      '--',
      'Waits for you: a test',
    ]);
    configure({ mira: { channels: hook() } }, { page_url: 'https://core.example.org/team/' });
    await world.command(['notify', 'test', 'mira']);
    const { url } = JSON.parse(receiver.received.at(-1)!.body).notices[0];
    expect(url).to.equal('https://core.example.org/team/');
    const unknown = await world.command(['notify', 'test', 'jo']);
    expect(unknown.stderr)
      .to.contain(`${file} does not name 'jo'; it names mira`)
      .and.contain('Add jo to people');
    configure({ jo: { channels: { mail: { to: 'jo@example.org' } } } });
    const mail = await world.command(['notify', 'test', 'jo']);
    expect(mail.stderr).to.contain(`${file}: /people/jo/channels/mail is set, and /smtp`);
  });
}).timeout(90_000);
