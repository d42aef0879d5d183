import { expect } from 'chai';
import { apiUrl } from './github-client.ts';

describe('the address of the GitHub API', () => {
  it('follows from the address that people open', () => {
    expect(apiUrl('https://github.com')).to.equal('https://api.github.com');
    expect(apiUrl('https://acme.ghe.com/')).to.equal('https://api.acme.ghe.com');
    expect(apiUrl('https://git.acme.example')).to.equal('https://git.acme.example/api/v3');
    expect(apiUrl('https://acme.example/github/')).to.equal('https://acme.example/github/api/v3');
  });
});
