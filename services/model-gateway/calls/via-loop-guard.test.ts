import { expect } from 'chai';
import { ViaLoopGuard } from './model-calls.ts';

describe('The mark of a gateway', () => {
  it('goes behind those of gateways before it, and nothing else does', () => {
    const [first, second] = [new ViaLoopGuard(), new ViaLoopGuard()];
    const from = first.onward('1.1 proxy.example.com (secret words)');
    expect(from).to.match(/^1\.1 core-model-gateway-[0-9a-f]{16}$/);
    const onward = second.onward(`1.0 a, ${from}, 1.1 b`).split(', ');
    expect(onward).to.deep.equal([from, second.onward(undefined)]);
  });

  it('detects that a call has returned to a gateway', () => {
    const [first, second] = [new ViaLoopGuard(), new ViaLoopGuard()];
    const back = second.onward(first.onward(undefined));
    expect(() => first.onward(back))
      .to.throw('has been here already')
      .with.include({
        code: 'call_loop',
        status: 508,
      });
  });

  it('ends a way that is too long', () => {
    let via: string | undefined;
    for (let gateway = 0; gateway < 8; gateway++) via = new ViaLoopGuard().onward(via);
    expect(() => new ViaLoopGuard().onward(via)).to.throw('has passed 8 gateways');
  });
});
