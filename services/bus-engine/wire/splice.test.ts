import { expect } from 'chai';
import fc from 'fast-check';
import { callOf, callPieces, isPlain, isWholeResult, resultIdOf, resultMiddle } from './splice.ts';

const worker = '6f1f3c5e-0000-4000-8000-000000000001';
const call = 'aaaaaaaa-0000-4000-8000-000000000001';
const end = Buffer.from(`,"_caller_worker_id":"${worker}"}}`);
const onlyEnd = Buffer.from(`"_caller_worker_id":"${worker}"}}`);

/** What the callee gets; null where the frame has to be parsed. */
function passedCall(text: string): string | null {
  const bytes = callOf(Buffer.from(text));
  const pieces = bytes === null ? null : callPieces(bytes, end, onlyEnd);
  return pieces === null ? null : Buffer.concat(pieces).toString();
}

function isPassedResult(text: string, functionId: string): boolean {
  const frame = Buffer.from(text);
  const middle = resultMiddle(functionId);
  return resultIdOf(frame) === call && middle !== null && isWholeResult(frame, middle);
}

/** The frame as the official SDK writes it. */
function callText(data: string, functionId = 'f'): string {
  return `{"type":"invokefunction","invocation_id":"${call}","function_id":"${functionId}","data":${data}}`;
}

function resultText(result: string, functionId = 'f'): string {
  return `{"type":"invocationresult","invocation_id":"${call}","function_id":"${functionId}","result":${result}}`;
}

/** Any JSON text of a value: with spaces, and members in any order. */
const json = fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, 4), fc.constantFrom('', ' ', '\n\t'));
const jsonText = json.map(
  ([value, indent, space]) => `${space}${JSON.stringify(value, null, indent)}${space}`,
);

describe('frames that are passed on as bytes', () => {
  it('mean the same as when they are parsed and written again', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const passed = passedCall(callText(text));
        const frame = JSON.parse(callText(text));
        const { data } = frame;
        const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
        if (passed === null) return isObject && Object.hasOwn(data, '_caller_worker_id');
        const wanted = isObject ? { ...frame, data: { ...data, _caller_worker_id: worker } } : frame;
        expect(JSON.parse(passed)).to.deep.equal(wanted);
        expect(JSON.stringify(JSON.parse(passed))).to.equal(JSON.stringify(wanted));
        return true;
      }),
      { numRuns: 300 },
    );
  });

  it('are JSON, whatever was sent in place of the value', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), jsonText), (text) => {
        const passed = passedCall(callText(text));
        if (passed !== null) {
          const frame = JSON.parse(passed);
          expect(frame).to.have.all.keys('type', 'invocation_id', 'function_id', 'data');
          expect(frame.invocation_id).to.equal(call);
        }
        if (isPassedResult(resultText(text), 'f')) {
          const frame = JSON.parse(resultText(text));
          expect(frame).to.have.all.keys('type', 'invocation_id', 'function_id', 'result');
          expect(frame.invocation_id).to.equal(call);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('have no member twice, and none besides', () => {
    const tails = [
      `1,"invocation_id":"x"`,
      `{"a":1},"invocation_id":"x"`,
      `{"a":1},"data":{"b":2}`,
      `{},"metadata":{}`,
      `"x","function_id":"g"`,
      `{"a":"}"},"traceparent":"00"`,
      `{}}{`,
      ``,
      `{"a":1`,
    ];
    for (const tail of tails) {
      expect(passedCall(callText(tail)), tail).to.equal(null);
      expect(isPassedResult(resultText(tail), 'f'), tail).to.equal(false);
    }
  });

  it('never carry what a caller claims to be', () => {
    for (const data of [
      '{"_caller_worker_id":"me"}',
      '{"a":1,"_caller_worker_id":"me","_caller_worker_id":"you"}',
      '{"\\u005fcaller_worker_id":"me"}',
      '{"_caller_worker_id":null}',
    ])
      expect(passedCall(callText(data)), data).to.equal(null);
    const inside = '{"a":{"_caller_worker_id":"me"},"__proto__":{"_caller_worker_id":1}}';
    expect(JSON.parse(passedCall(callText(inside))!).data._caller_worker_id).to.equal(worker);
  });

  it('name functions by bytes that are the same as their text', () => {
    expect(isPlain('core.agent.plan_issue')).to.equal(true);
    expect(isPlain('a b::c/é')).to.equal(false);
    for (const id of ['', 'a"b', 'a\\b', 'a\nb', 'ä', '\u007f']) {
      expect(isPlain(id), id).to.equal(false);
      expect(resultMiddle(id), id).to.equal(null);
    }
    // A name in UTF-8 read byte by byte is another name, which cannot be one that is plain.
    expect(isPlain(callOf(Buffer.from(callText('{}', 'é')))!.functionId)).to.equal(false);
    expect(callOf(Buffer.from(callText('{}', 'x'.repeat(400))))).to.equal(null);
  });

  it('have ids that are UUIDs', () => {
    expect(callOf(Buffer.from(callText('{}').replace(call, 'x'.repeat(36))))).to.equal(null);
    expect(callOf(Buffer.from(callText('{}').replace(call, `${call.slice(1)}\\`)))).to.equal(null);
  });

  it('belong to the function that was called', () => {
    expect(isPassedResult(resultText('1'), 'f')).to.equal(true);
    expect(isPassedResult(resultText('1'), 'g')).to.equal(false);
    expect(isPassedResult(resultText('1', 'ff'), 'f')).to.equal(false);
  });
});
