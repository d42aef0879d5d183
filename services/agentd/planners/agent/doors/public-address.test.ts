import { expect } from 'chai';
import { isPublicAddress } from './public-address.ts';

describe('A public address', () => {
  it('is not of this machine, its link, its private networks, or a tunnel into them', () => {
    for (const address of [
      ...['127.0.0.1', '127.8.9.10', '0.0.0.0', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
      ...['169.254.169.254', '100.64.0.1', '100.100.100.200', '198.18.0.1', '224.0.0.1', '255.255.255.255'],
      ...[
        '::',
        '::1',
        'fe80::1',
        'fd00:ec2::254',
        'fc00::1',
        'ff02::1',
        '::ffff:127.0.0.1',
        '::ffff:8.8.8.8',
      ],
      ...['64:ff9b::7f00:1', '2002:7f00:1::', '2001:0:1::1', '2001:db8::1', '::127.0.0.1'],
      ...['', 'localhost', '127.1', '2130706433', '0x7f.1', 'fe80::1%eth0'],
    ]) {
      expect(isPublicAddress(address), address).to.equal(false);
    }
  });

  it('is one of the whole network', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '172.32.0.1',
      '100.128.0.1',
      '2606:4700::1111',
      '2a00:1450::1',
    ]) {
      expect(isPublicAddress(address), address).to.equal(true);
    }
  });
});
