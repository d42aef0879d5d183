import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { temporaryFolder } from '../../../../test/fixtures/repositories/temporary-folder.ts';
import { openForWriting } from '../../record/connection.ts';
import { GraphRecord } from '../../record/graph-record.ts';
import { migrate } from '../../store/schema.ts';
import { prepareRecording } from '../prepare-recording.ts';
import { recordMemory, recordMemoryOutcome } from '../record-memory.ts';
import { lookUpMemories } from './lookup.ts';

describe('A lookup of memories', () => {
  let db: DatabaseSync;
  let graph: GraphRecord;

  beforeEach(() => {
    db = openForWriting(join(temporaryFolder(), 'record.sqlite'));
    migrate(db);
    graph = new GraphRecord(db);
    db.exec('BEGIN');
  });
  afterEach(() => db.close());

  const record = (request: RecordRequest) => recordMemory(graph, prepareRecording(request)).id;
  const outcome = (id: string, worked: boolean, times: number) => {
    for (let n = 0; n < times; n++)
      recordMemoryOutcome(graph, { id, worked, run: `run_${n}`, at: '2026-01-01T00:00:00.000Z' });
  };
  const find = (query: string, limit: number) =>
    lookUpMemories(db, { query, limit, layer: null, sessions: null, source: null, about: null, as_of: null })
      .results;

  it('finds what people recorded though more lines of runs match better than the index is asked for', () => {
    const decision = record({
      layer: 'semantic',
      content: `The rollout waits for the second reviewer. ${'Nobody else has to agree to that. '.repeat(40)}`,
    });
    for (let n = 0; n < 210; n++)
      record({ layer: 'episodic', kind: 'run_event', session: 'run_1', content: `Rollout ${n}` });
    expect(find('rollout', 10).map(({ id }) => id)).to.contain(decision);
  });

  it('prefers playbooks that worked and lowers those that failed, by a tenth at most', () => {
    const [good, unused, bad] = [1, 2, 3].map((queue) =>
      record({ layer: 'procedural', content: `Restart the worker of queue ${queue} with care.` }),
    ) as [string, string, string];
    outcome(good, true, 3);
    outcome(bad, false, 3);
    const found = find('care when a worker of a queue hangs', 10);
    expect(found.map(({ id }) => id)).to.deep.equal([good, unused, bad]);
    expect(found.map(({ why }) => why.success)).to.deep.equal([0.8, 0.5, 0.2]);
    expect(found.map(({ score }) => score)).to.deep.equal([1, 0.9434, 0.8868]);
  });

  it('neither prefers nor lowers what is no playbook, and puts lines of runs last', () => {
    const content = 'Restart the worker with care.';
    record({ layer: 'procedural', content });
    record({ layer: 'semantic', content: `${content} ` });
    record({ layer: 'episodic', kind: 'run_event', session: 'run_1', content });
    const found = find('restart a worker', 10).map(({ layer, score, why }) => [layer, score, why.success]);
    expect(found.slice(0, 2)).to.have.deep.members([
      ['procedural', 1, 0.5],
      ['semantic', 1, null],
    ]);
    expect(found[2]).to.include('episodic');
  });

  /** Records a conversation of lines such as `mira: It rains`. */
  const converse = (session: string, lines: string) => {
    for (const line of lines.trim().split('\n')) {
      const [speaker, content] = line.trim().split(/: (.*)/s) as [string, string];
      record({ layer: 'episodic', session, speaker, content });
    }
  };
  const texts = (query: string) => find(query, 20).map(({ text }) => text);
  const resultFor = (query: string, text: string) => find(query, 20).find((one) => one.text === text)!;

  it('gives a turn that is found through the one beside it the share of its session too', () => {
    converse('kitchen', 'mira: The oven makes a noise\njo: It ticks\nmira: The oven is old');
    converse('garden', 'mira: The oven of clay is new\njo: It smokes');
    const [ticks, smokes] = ['It ticks', 'It smokes'].map((text) => resultFor('oven', text));
    expect(ticks!.why).to.deep.include({ text: 0, terms: [] });
    expect(ticks!.why.session).to.be.greaterThan(smokes!.why.session);
    expect(smokes!.why.session).to.be.greaterThan(0);
  });

  it('takes what comes after a question for its answer, unless it is asked when or how long', () => {
    converse('asked', 'mira: Which instrument do you play?\njo: The cello');
    converse('stated', 'mira: An instrument hangs on the wall\njo: It is dusty');
    const shareOf = (query: string, text: string) => {
      const { neighbours } = resultFor(query, text).why;
      const [{ relation, id, score }] = neighbours as [(typeof neighbours)[number]];
      const from = find(query, 20).find((one) => one.id === id)!;
      return { relation, share: Math.round((10 * score) / from.why.text) / 10 };
    };
    const query = 'instrument played';
    expect(shareOf(query, 'The cello')).to.deep.equal({ relation: 'question', share: 0.8 });
    expect(shareOf(query, 'It is dusty')).to.deep.equal({ relation: 'previous', share: 0.4 });
    for (const when of ['When was the instrument played?', 'How long is the instrument played?'])
      expect(shareOf(when, 'The cello')).to.deep.equal({ relation: 'previous', share: 0.4 });
  });

  it('puts a turn that says something before one that only asks the same', () => {
    converse('first', 'jo: The bakery opened in Porto?\nmira: Yes');
    converse('second', 'jo: The bakery opened in Porto!\nmira: Yes');
    expect(texts('bakery in Porto')[0]).to.equal('The bakery opened in Porto!');
  });

  it('puts a turn that says a time first where it is asked when', () => {
    converse('first', 'jo: The fence was painted yesterday\nmira: Good');
    converse('second', 'jo: The fence was painted nicely\nmira: Good');
    expect(texts('when was the fence painted')[0]).to.equal('The fence was painted yesterday');
    expect(texts('who painted the fence')[0]).to.equal('The fence was painted nicely');
  });

  it('prefers what the named one of two says around what matches, and nobody among three', () => {
    // A name that many memories have in common is no word to find them by.
    converse('other', Array.from({ length: 10 }, (_, n) => `mira: Remark ${n}`).join('\n'));
    converse('two', 'mira: Well\njo: The violin lesson was fine\nmira: I am glad\njo: It rains');
    const scoreOf = (query: string) => resultFor(query, 'I am glad').score;
    const [named, unnamed] = [scoreOf("mira's violin lesson"), scoreOf('violin lesson')];
    expect(resultFor("mira's violin lesson", 'I am glad').why.subject).to.equal('mira');
    expect(named / unnamed).to.be.closeTo(1.3, 0.01);
    converse('two', 'kim: Hello');
    expect(scoreOf("mira's violin lesson")).to.equal(scoreOf('violin lesson'));
  });

  it('finds of a source, a session or an entity what it found before others were recorded', () => {
    for (const [nth, content] of ['The greeting is polite', 'A greeting for mira', 'Tea'].entries())
      record({
        layer: 'episodic',
        session: 'own',
        speaker: 'mira',
        content,
        source: 'own',
        key: `own${nth}`,
      });
    const narrow = { layer: null, sessions: null, source: null, about: null, as_of: null };
    const found = (query: string) =>
      [{ source: 'own' }, { sessions: ['own'] }, { layer: 'episodic' as const }].map((filter) =>
        lookUpMemories(db, { ...narrow, ...filter, query, limit: 50 }).results.map(({ text }) => text),
      );
    const queries = ['zebra greeting', 'mira greeting', 'polite tea'];
    const before = queries.map(found);
    for (let nth = 0; nth < 1_200; nth++)
      record({
        layer: 'semantic',
        subject: 'mira',
        content: `${nth % 10 === 0 ? 'zebra' : ''} greeting ${nth % 2 === 0 ? 'polite tea' : ''} ${nth}`,
        source: 'other',
      });
    expect(before.flat().every((texts) => texts.length > 0)).to.equal(true);
    expect(queries.map(found).map((lists) => lists.map((texts) => [...texts].sort()))).to.deep.equal(
      before.map((lists) => lists.map((texts) => [...texts].sort())),
    );
  });
});
