# Exit code 0 where nginx gives the first page.
use strict;
use warnings;
use IO::Socket::INET;

my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => 80, Timeout => 4) or die "port 80: $@\n";
print $socket "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n";
my $line = <$socket> // '';
$line =~ m{^HTTP/1\.\d 200 } or die "GET / was answered with: $line\n";
