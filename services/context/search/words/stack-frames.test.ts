import { expect } from 'chai';
import fc from 'fast-check';
import { processorTime } from '../../../../test/fixtures/processor-time.ts';
import { framesOf } from './stack-frames.ts';

const traces: Readonly<Record<string, readonly [text: string, frames: readonly string[]]>> = {
  JavaScript: [
    `TypeError: x is not a function
    at TreeReader.readTree (file:///app/src/read-tree.ts:2:3)
    at async main (/my app/src/main.js:10:5)
    at C:\\app\\src\\w.ts:5:6
    at node:internal/modules/run_main:3:4`,
    ['app/src/read-tree.ts:2', 'app/src/main.js:10', 'app/src/w.ts:5'],
  ],
  Python: [
    `Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run()
  File "/app/lib/run.py", line 9, in run
    raise ValueError
ValueError: at 1:2`,
    ['app/lib/run.py:9', 'app/main.py:3'],
  ],
  Java: [
    `Exception in thread "main" java.lang.IllegalStateException: x
\tat com.foo.Bar.baz(Bar.java:10)
\tat com.foo.Outer$Inner.<init>(Outer.java:33)
\tat java.base/java.util.ArrayList.get(ArrayList.java:427)`,
    ['com/foo/Bar.java:10', 'com/foo/Outer.java:33', 'java/util/ArrayList.java:427'],
  ],
  Go: ['goroutine 1 [running]:\nmain.main()\n\t/app/cmd/main.go:12 +0x1d', ['app/cmd/main.go:12']],
  Rust: [
    `thread 'main' panicked at src/deep.rs:3:5:
index out of bounds
   0: core::panicking::panic
             at /rustc/90b35a6/library/core/src/panicking.rs:72:14
   1: demo::main
             at ./src/main.rs:7:9`,
    ['src/deep.rs:3', 'rustc/90b35a6/library/core/src/panicking.rs:72', 'src/main.rs:7'],
  ],
  'C#': [
    '   at App.Foo.Bar() in C:\\my app\\src\\Foo.cs:line 10\n   at App.Program.Main() in /app/Program.cs:line 3',
    ['my app/src/Foo.cs:10', 'app/Program.cs:3'],
  ],
  Ruby: [
    "app/models/user.rb:10:in 'User#name': bad (ArgumentError)\n\tfrom app/main.rb:3:in '<main>'",
    ['app/models/user.rb:10', 'app/main.rb:3'],
  ],
  PHP: [
    `PHP Fatal error:  Uncaught Exception in /app/src/Foo.php:10
#0 /app/src/Bar.php(12): Foo->a()
#1 {main}
  thrown in /app/src/Foo.php on line 10`,
    ['app/src/Foo.php:10', 'app/src/Bar.php:12', 'app/src/Foo.php:10'],
  ],
  'a compiler': ['src/a.ts(10,5): error TS2304\nlib/b.c:7:1: warning: unused', ['src/a.ts:10', 'lib/b.c:7']],
};

describe('Stack frames', () => {
  for (const [language, [text, frames]] of Object.entries(traces)) {
    it(`are read as ${language} writes them, the one called last first`, () => {
      expect(framesOf(text).map(({ names, line }) => `${names.join('/')}:${line}`)).to.deep.equal(frames);
    });
  }

  it('are not read from prose', () => {
    const text = 'We met at 10:30, see http://localhost:8080/x, ratio 1.2.3:4, e.g. that; v1.2:3 (see a.b)';
    expect(framesOf(text)).to.deep.equal([]);
  });

  it('are read from any text in bounded time', () => {
    const piece = fc.constantFrom('a.', 'at a.', 'a/', ' in a:', '.php', 'File "', '(', '1', ':', '\n', ' ');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
        const text = pieces.join('').repeat(5_000).slice(0, 20_000);
        const spent = processorTime();
        expect(framesOf(text).length).to.be.at.most(50);
        expect(spent()).to.be.below(10_000);
      }),
      { numRuns: 100 },
    );
  });
});
