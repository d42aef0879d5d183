import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gitText } from '#kit/git/git.ts';
import { type Weights, weights } from '../../../services/context/search/ranking/text-hits.ts';
import { search } from '../../../services/context/search/search.ts';
import { type Difference, difference, type Measures, measure, type Summary, summaryOf } from './measures.ts';
import { questionsOf } from './questions.ts';
import { type Stop, walk } from './walk.ts';

/**
 * `node test/bench/retrieval/run.ts [--repository PATH]… [--commits N] [--json]`: finds the files that commits touched from what
 * the commits say. Ends with 1 where the whole method is not better than plain FTS5 for certain.
 */
const { values } = parseArgs({
  options: {
    repository: { type: 'string', multiple: true },
    commits: { type: 'string', default: '150' },
    json: { type: 'boolean', default: false },
  },
});
const most = Number(values.commits);
if (!Number.isInteger(most) || most < 1) {
  process.stderr.write(`--commits is '${values.commits}'; it must be an integer from 1\n`);
  process.exit(2);
}
const own = fileURLToPath(new URL('../../..', import.meta.url));
const listed = 20;

const without = (change: Partial<Weights>) => (stop: Stop) => found(stop, { ...weights, ...change });
const textAlone = { pathWords: 0, filesOfSort: 0, sort: 0, place: 0 };
/** Each line adds one thing to the line before it. */
const methods: Readonly<Record<string, (stop: Stop) => readonly string[]>> = {
  'plain FTS5 over files': ({ plain, question }) => plain.files(question.query, listed),
  'BM25 over chunks of 60 lines': ({ plain, question }) => plain.chunks(question.query, listed),
  'terms of files': without({ ...textAlone, parts: 0, history: 0, edges: {} }),
  '+ parts of files': without({ ...textAlone, history: 0, edges: {} }),
  '+ paths, kinds and places': without({ history: 0, edges: {} }),
  '+ edges of the graph': without({ history: 0 }),
  'the whole method': without({}),
};
const [yardstick, whole] = ['plain FTS5 over files', 'the whole method'];

function found({ db, question }: Stop, chosen: Weights): string[] {
  const everything = { kinds: undefined, repository: undefined, as_of: undefined };
  const results = search(db, { query: question.query, limit: listed, ...everything }, chosen);
  return results.flatMap(({ path }) => path ?? []);
}

interface Report {
  readonly repository: string;
  readonly questions: number;
  readonly methods: Readonly<Record<string, Summary>>;
  /** Of the whole method over the yardstick. */
  readonly gain: Difference;
}

const reports: Report[] = [];
for (const path of values.repository ?? [own]) {
  const gitDir = await gitText(['rev-parse', '--absolute-git-dir'], { cwd: path });
  const questions = await questionsOf(gitDir, most);
  const measured = new Map<string, Measures[]>(Object.keys(methods).map((name) => [name, []]));
  await walk({ path, gitDir }, questions, (stop) => {
    for (const [name, method] of Object.entries(methods))
      measured.get(name)!.push(measure(method(stop), stop.question.answers));
    if (process.stderr.isTTY)
      process.stderr.write(`\r${basename(path)} ${measured.get(whole)!.length}/${questions.length} `);
  });
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  const report = {
    repository: basename(path.replace(/\/+$/, '')),
    questions: questions.length,
    methods: Object.fromEntries([...measured].map(([name, all]) => [name, summaryOf(all)])),
    gain: difference(measured.get(whole)!, measured.get(yardstick)!),
  };
  reports.push(report);
  if (!values.json) process.stdout.write(`${textOf(report)}\n`);
}
if (values.json) process.stdout.write(`${JSON.stringify(reports, null, 2)}\n`);
process.exit(reports.every(({ gain }) => gain.interval[0] > 0) ? 0 : 1);

function textOf({ repository, questions, methods, gain }: Report): string {
  const percent = (share: number) => (100 * share).toFixed(1).padStart(6);
  const lines = Object.entries(methods).map(
    ([name, { mrr, recall }]) => `  ${name.padEnd(30)}${percent(mrr)}  ${recall.map(percent).join(' ')}`,
  );
  const [low, high] = gain.interval;
  return [
    `${repository}: ${questions} commits`,
    `  ${''.padEnd(30)}   MRR  recall@5    @10    @20`,
    ...lines,
    `  ${whole} and ${yardstick}: MRR ${gain.mrr >= 0 ? '+' : ''}${percent(gain.mrr).trim()} (${percent(gain.relative).trim()} %), 95 % of resamples between ${percent(low).trim()} and ${percent(high).trim()}`,
  ].join('\n');
}
