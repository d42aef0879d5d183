import { expect } from 'chai';
import fc from 'fast-check';
import { stem } from './porter.ts';
import { queryTerms } from './query-terms.ts';
import { allTermsOf, pathTermsOf, termsOf } from './words.ts';

const sortedTerms = (text: string) => [...termsOf(text).keys()].sort();

const termPattern = /^(?:[\p{L}\p{M}\p{N}]+|\p{Extended_Pictographic}|\p{RI}{2})$/u;

const asked = (query: string) => queryTerms(query).map(({ term }) => term);

describe('Terms of a text', () => {
  for (const [text, expected] of [
    ['readTree', ['read', 'readtre', 'tree']],
    ['read_tree', ['read', 'readtre', 'tree']],
    ['ReadTree', ['read', 'readtre', 'tree']],
    ['READ_TREE', ['read', 'readtre', 'tree']],
    ['parseHTTPHeader', ['header', 'http', 'pars', 'parsehttphead']],
    ['sha256', ['256', 'sha', 'sha256']],
    ['$store.dispatch', ['dispatch', 'store']],
    ['validates validation validated', ['valid']],
    ['größerAls', ['al', 'grosser']],
    ['ﬁle', ['file']],
    ['café Élan Ελλάς Ёлка Łódź cœur', ['cafe', 'coeur', 'elan', 'lodz', 'ελλασ', 'елка']],
    ['データベース接続', ['タベ', 'デー', 'ベー', 'ース', '接続', '続', 'ス接', 'ータ']],
    ['Reactの鍵', ['react', 'の鍵', '鍵']],
    ['ห้องน้ำ', ['ห้อ', 'อง', 'งน้ํ', 'น้ํา', 'า']],
    ['서버에서 서버를 서버', ['서버', '버']],
    ['हिन्दी עברית', ['हिन्दी', 'עברית']],
    ['3f2c1a9d8e7b6a5f4d3c', []],
    ['C++ c++17 C# F#, i++ #1 page#c', ['cpp', 'cpp17', 'csharp', 'fsharp', '17', 'page']],
    ['👍🏽 ❤️ ❤ 👩‍💻 🇫🇷 1️⃣ © ™', ['👍', '❤', '👩', '💻', '🇫🇷', 'tm']],
    ['a b c 1', []],
    ['"foo" AND NOT bar*', ['and', 'bar', 'foo', 'not']],
    ['\0x\ud800y🎉', ['🎉']],
  ] as const) {
    it(`of ${JSON.stringify(text)}`, () => {
      expect(sortedTerms(text)).to.deep.equal([...expected].sort());
    });
  }

  it('are of letters, digits and emoji alone, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const term of [...termsOf(text).keys(), ...allTermsOf(text).keys()])
          expect(term).to.match(termPattern);
      }),
    );
  });
});

describe('All terms of a text', () => {
  it('have digests, single letters and digits too', () => {
    const terms = [...allTermsOf('plan B at 4be9d01c77aa, 5 of v2.3 in C').keys()];
    expect(terms).to.deep.equal(['plan', 'b', 'at', '4be9d01c77aa', '5', 'of', 'v2', '3', 'in', 'c']);
  });
});

describe('Terms of a path', () => {
  it('are its words, its names written as one, and its last names together', () => {
    expect([...pathTermsOf('kit/crash-point.test.ts').keys()]).to.include.members([
      'kit',
      'crash',
      'point',
      'crashpoint',
      'kitcrashpoint',
    ]);
  });
});

describe('Terms of a query', () => {
  it('meet those of the identifiers that it names in another way of writing', () => {
    for (const written of ['run-store', 'run_store', 'runStore', 'RunStore', 'run.store']) {
      expect(asked(written), written).to.include('runstor');
    }
  });

  it('leave out words that say nothing, and what all changes say where there is more', () => {
    expect(asked('fix: the parser should not crash')).to.deep.equal(['parser', 'crash']);
    expect(asked('Fix a bug')).to.deep.equal(['fix', 'bug']);
    expect(asked('what is this about')).to.deep.equal([]);
  });

  for (const [name, frame, expected] of [
    [
      'Node',
      '    at decode (/app/services/kit/decode.ts:41:9)',
      ['decod', 'kitdecodet', 'serviceskitdecodet'],
    ],
    ['Python', '  File "src/_pytest/python.py", line 3, in collect', ['pytestpythonpi', 'collect']],
    [
      'Java',
      '\tat org.acme.RunStore.append(RunStore.java:17)',
      ['runstor', 'append', 'orgacmerunstoreappend'],
    ],
    ['Rust', '  4: core::runs::append at ./src/runs.rs:12:1', ['corerunsappend', 'srcrunsr']],
  ] as const) {
    it(`have the file and function of a frame of ${name}`, () => {
      const terms = asked(frame);
      for (const term of expected)
        expect(
          terms.some((one) => one.startsWith(term)),
          `${term} in ${terms}`,
        ).to.equal(true);
    });
  }

  it('count the subject of a message twice, and not who signed it', () => {
    const message =
      'Sort the list\n\nThe order was random.\n\nSigned-off-by: Mira <mira@example.org>\nCo-authored-by: Tom <t@e.org>';
    expect(queryTerms(message).map(({ term, weight }) => [term, weight])).to.deep.equal([
      ['sort', 2],
      ['list', 2],
      ['order', 1],
      ['random', 1],
    ]);
  });

  it('take any text, and are no syntax', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        for (const { term } of queryTerms(text)) expect(term).to.match(termPattern);
      }),
    );
  });
});

describe('Stems', () => {
  for (const [word, expected] of [
    ['caresses', 'caress'],
    ['ponies', 'poni'],
    ['cats', 'cat'],
    ['agreed', 'agre'],
    ['plastered', 'plaster'],
    ['motoring', 'motor'],
    ['sing', 'sing'],
    ['conflated', 'conflat'],
    ['hopping', 'hop'],
    ['filing', 'file'],
    ['happy', 'happi'],
    ['relational', 'relat'],
    ['digitizer', 'digit'],
    ['triplicate', 'triplic'],
    ['hopefulness', 'hope'],
    ['adoption', 'adopt'],
    ['effective', 'effect'],
    ['controlling', 'control'],
    ['probate', 'probat'],
    ['rate', 'rate'],
    ['generalizations', 'gener'],
    ['oscillators', 'oscil'],
    ['café', 'café'],
    ['x2', 'x2'],
  ] as const) {
    it(`of ${word} is ${expected}`, () => expect(stem(word)).to.equal(expected));
  }
});

describe('A query that is made to be slow', () => {
  it('is read in time for its length', () => {
    expect(asked(`${'\n'.repeat(200_000)}reader`)).to.deep.equal(['reader']);
    expect(asked(`${' \t'.repeat(100_000)}reader`)).to.deep.equal(['reader']);
  });
});
