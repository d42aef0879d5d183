import { expect } from 'chai';
import { checkScope } from './check-scope.ts';

describe('a scope', () => {
  const check = (scopes: string[]) => () => checkScope({ name: 'ci', scopes }, 'approve');

  it('is had by its name or as admin', () => {
    expect(check(['read', 'approve'])).not.to.throw();
    expect(check(['admin'])).not.to.throw();
  });

  it('is refused to others, with the scopes that they have', () => {
    expect(check(['read', 'plan']))
      .to.throw("the token 'ci' has the scopes read, plan; this needs approve")
      .with.property('code', 'scope_missing');
    expect(check([])).to.throw('has the scopes none');
  });
});
