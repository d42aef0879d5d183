import { expect } from 'chai';
import fc from 'fast-check';
import { engineFrame, workerFrame } from './frames.ts';

describe('frames of the bus', () => {
  const call = { type: 'invokefunction', invocation_id: 'i', function_id: 'f', data: {} };

  it('takes every frame of the reference as it is', () => {
    const frames = [
      { type: 'reattach', previous_worker_id: 'w', reattach_token: 't' },
      { type: 'registerfunction', id: 'core.graph.search' },
      { type: 'registerfunction', id: 'f', description: null, request_format: {}, metadata: null },
      { type: 'unregisterfunction', id: 'f' },
      { type: 'registertriggertype', id: 'core.timer', description: 'x' },
      {
        type: 'registertrigger',
        id: 'a',
        message_type: 'x',
        trigger_type: 'http',
        function_id: 'f',
        config: {},
      },
      { type: 'unregistertrigger', id: 'a', trigger_type: 'http' },
      { type: 'triggerregistrationresult', id: 'a', trigger_type: 't', function_id: 'f' },
      { ...call, action: { type: 'void' }, metadata: 1 },
      { ...call, action: { type: 'enqueue', queue: 'default' } },
      { type: 'invocationresult', invocation_id: 'i', function_id: 'f', error: { code: 'c', message: 'm' } },
      { type: 'ping' },
    ];
    for (const frame of frames) expect(workerFrame(frame)).to.equal(frame);
    const registered = { type: 'workerregistered', worker_id: 'w', reattach_token: 't' };
    expect(engineFrame(registered)).to.equal(registered);
  });

  it('says which rule a frame breaks', () => {
    const reasons: [unknown, RegExp][] = [
      [[], /must be a JSON object/],
      [{ type: 'shutdown' }, /\/type is "shutdown": must be one of invokefunction/],
      [{}, /\/type is missing/],
      [{ type: 'constructor' }, /must be one of/],
      [{ ...call, data: undefined }, /^invokefunction: \/data is missing: must be a value: \{\}/],
      [{ ...call, function_id: '' }, /function_id is "": must be a string of 1 to 500/],
      [{ ...call, invocation_id: 7 }, /invocation_id is 7: must be a string/],
      [{ ...call, action: { type: 'enqueue' } }, /action\/queue is missing: must be a string/],
      [{ type: 'registertrigger', id: 'a', trigger_type: 't', function_id: 'f' }, /config is missing/],
      [
        { type: 'invocationresult', invocation_id: 'i', function_id: 'f', error: {} },
        /error\/code is missing: must be a string/,
      ],
    ];
    for (const [frame, reason] of reasons)
      expect(workerFrame(frame)).to.have.property('reason').that.matches(reason);
  });

  it('never throws, whatever comes', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('invokefunction', 'invocationresult', 'x'),
        (value, type) => {
          expect(workerFrame(value)).to.have.property('type');
          expect(workerFrame({ ...Object(value), type })).to.have.property('type');
          expect(engineFrame({ type, error: value, action: value })).to.have.property('type');
        },
      ),
    );
  });
});
