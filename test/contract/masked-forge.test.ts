import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { problemOf } from '#kit/http/problem.ts';
import { maskedText } from '#kit/redaction/masked-text.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { secretFinder } from '#kit/redaction/secret-finder.ts';
import type { ConfiguredForge } from '../../services/agentd/forges/configured-forge.ts';
import { MaskedForge } from '../../services/agentd/forges/masked-forge.ts';
import { secretSamples } from '../fixtures/redaction/secret-samples.ts';
import { type ForgeBench, giteaBench, githubBench, localBench, type RemoteBench } from './forge.benches.ts';

interface Canary {
  readonly text: string;
  /** The part that must not come out. */
  readonly secret: string;
}

/** One of each kind that the detector knows. */
const canaries: readonly Canary[] = Object.values(secretSamples).map(([sample]) =>
  typeof sample === 'string' ? { text: sample, secret: sample } : { text: sample![0], secret: sample![1] },
);
const branch = 'core/greet';
const redactor = new Redactor();

/** A bench with something in every kind of answer. */
async function furnished(bench: ForgeBench): Promise<number> {
  const issue = await bench.issue({ title: 'Greet', body: 'Strangers', author: 'mira', labels: ['easy'] });
  await bench.comment(issue, { body: 'Yes', author: 'stranger' });
  const commit = await bench.addBranch(branch, { 'a.txt': 'a' });
  await bench.forge.openPullRequest(bench.ref, { title: 'Greet', body: 'It', head: branch, base: 'main' });
  for (const kind of ['check_run', 'status'] as const)
    await bench.check?.({ commit, name: `lint ${kind}`, state: 'failure', kind });
  await bench.protect('main');
  await bench.reopen?.(issue);
  return issue;
}

/** What every method answers, and what is shown of its error, as one text. */
async function everythingOf(forge: ConfiguredForge, bench: ForgeBench, issue: number): Promise<string> {
  const { ref } = bench;
  const answers = await Promise.allSettled([
    forge.repository(ref),
    forge.issue(ref, issue),
    forge.comments(ref, issue),
    forge.listIssues(ref, { state: 'all', limit: 10 }),
    forge.changedIssues(ref, { since: '2020-01-01T00:00:00Z', limit: 10 }),
    forge.protection(ref, 'work'),
    forge.findPullRequests(ref, branch),
    forge.pullRequest(ref, issue + 1),
    forge.examine(5_000),
  ]);
  const shown = answers.map((answer) => {
    if (answer.status === 'fulfilled') return answer.value;
    expect(answer.reason, String(answer.reason)).to.be.instanceOf(CoreError);
    return problemOf(answer.reason, { path: '/', id: 'test' }, redactor);
  });
  // Texts as they are, not as JSON writes them.
  return stringsOf(shown).join('\n');
}

function stringsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([member, inside]) => [member, ...stringsOf(inside)]);
}

/** Paths of all texts in a value; those of a list have one in common. */
function placesIn(value: unknown, at = ''): string[] {
  if (typeof value === 'string') return [at];
  if (Array.isArray(value)) return value.flatMap((item) => placesIn(item, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([member, inside]) => placesIn(inside, `${at}.${member}`));
}

function planted(value: unknown, place: string, change: (text: string) => string, at = ''): unknown {
  if (typeof value === 'string') return at === place ? change(value) : value;
  if (Array.isArray(value)) return value.map((item) => planted(item, place, change, `${at}[]`));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([member, inside]) => [
    member,
    planted(inside, place, change, `${at}.${member}`),
  ]);
  return Object.fromEntries(entries);
}

const masking = (bench: ForgeBench) => new MaskedForge(bench.forge, secretFinder([]));

/** Beside the text of a place, and in its stead. */
const ways = [({ text }: Canary, before: string) => `${before} ${text}`, ({ text }: Canary) => text];

for (const [name, open] of Object.entries({ github: githubBench, gitea: giteaBench })) {
  describe(`No secret in an answer of ${name}`, () => {
    let bench: RemoteBench;
    let issue: number;

    before(async () => {
      bench = await open();
      issue = await furnished(bench);
    });
    after(() => bench.close());

    it('comes through, whichever member holds it', async () => {
      const places = new Set<string>();
      bench.server.change = (body) => {
        for (const place of placesIn(body)) places.add(place);
        return body;
      };
      await everythingOf(bench.forge, bench, issue);
      expect([...places]).to.include.members(['.title', '[].labels[].name', '.user.login']);
      let next = 0;
      for (const place of places) {
        // Addresses of the API, which no adapter reads.
        if (/_url$/.test(place) && !/(?:html|clone|repository)_url$/.test(place)) continue;
        const canary = canaries[next % canaries.length]!;
        const way = ways[next++ % ways.length]!;
        bench.server.change = (body) => planted(body, place, (text) => way(canary, text));
        const said = await everythingOf(masking(bench), bench, issue);
        const at = said.indexOf(canary.secret);
        expect(at, `${place}: ${said.slice(Math.max(0, at - 300), at + 200)}`).to.equal(-1);
      }
      bench.server.change = (body) => planted(body, '.title', () => canaries[0]!.text);
      expect(await everythingOf(bench.forge, bench, issue)).to.contain(canaries[0]!.secret);
    });

    it('comes through, whatever its kind', async () => {
      for (const canary of canaries) {
        bench.server.change = (body) =>
          ['[].title', '[].labels[].name', '[].body'].reduce(
            (changed, place) => planted(changed, place, () => canary.text),
            body,
          );
        const listed = await masking(bench).listIssues(bench.ref, { state: 'all', limit: 10 });
        const said = stringsOf(listed).join('\n');
        expect(said).to.contain('[redacted ').and.not.contain(canary.secret);
      }
    });
  });
}

describe('No secret in the folder of a local forge', () => {
  let bench: ForgeBench;
  let issue: number;

  before(async () => {
    bench = await localBench();
    issue = await furnished(bench);
  });
  after(() => bench.close());

  it('comes through, whichever member of a record holds it', async () => {
    const records = readdirSync(bench.forge.url, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.json') && !path.includes('repository.git'),
    );
    expect(records).to.have.length.above(3);
    let next = 0;
    for (const record of records) {
      const path = join(bench.forge.url, record);
      const whole = readFileSync(path, 'utf8');
      for (const place of new Set(placesIn(JSON.parse(whole)))) {
        const canary = canaries[next % canaries.length]!;
        const way = ways[next++ % ways.length]!;
        writeFileSync(path, JSON.stringify(planted(JSON.parse(whole), place, (text) => way(canary, text))));
        const said = await everythingOf(masking(bench), bench, issue);
        expect(said, `${record} ${place}: ${canary.text}`).not.to.contain(canary.secret);
      }
      writeFileSync(path, whole);
    }
  });
});

describe('A masked answer', () => {
  it('says what was masked in it, and is refused where a secret is in what requests use', async () => {
    const bench = await githubBench();
    try {
      const issue = await furnished(bench);
      const { text, secret } = canaries[1]!;
      const forge = masking(bench);
      bench.server.change = (body) => planted(body, '.title', () => text);
      const found = await forge.issue(bench.ref, issue);
      expect(found.title).to.equal('[redacted github_token]');
      expect(found.masked?.map(({ kind }) => kind)).to.deep.equal(['github_token']);
      bench.server.change = (body) => planted(body, '.default_branch', () => text);
      const refused = await forge.repository(bench.ref).catch((error) => error);
      expect(refused).to.include({ code: 'forge_reply_holds_secret' });
      expect(refused.message).to.contain('default_branch').and.not.contain(secret);
      const released = new MaskedForge(bench.forge, secretFinder([found.masked![0]!.fingerprint]));
      expect((await released.repository(bench.ref)).default_branch).to.equal(text);
      expect(found).not.to.have.property('html_url', text);
    } finally {
      await bench.close();
    }
  });

  it('is masked by the rules for prose, as reasons are', async () => {
    const bench = await githubBench();
    try {
      const issue = await furnished(bench);
      const forge = masking(bench);
      for (const text of ['PaSsWoRd=hunter2!x', 'DB_PASSWORD=hunter2', 'the password is Summer2024!']) {
        for (const place of ['.title', '.body'] as const) {
          bench.server.change = (body) => planted(body, place, () => text);
          const found = await forge.issue(bench.ref, issue);
          expect(found[place === '.title' ? 'title' : 'body'], place).to.equal(maskedText(text));
          expect(maskedText(text)).to.contain('[redacted ');
        }
      }
    } finally {
      await bench.close();
    }
  });
});
