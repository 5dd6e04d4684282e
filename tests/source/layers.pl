# SPDX-License-Identifier: MIT
# Prints violations of the layers of doc/design.md, from the output of nm -A -g on standard input and the headers that
# the arguments name, relative to the project's folder, which is the first argument: a file that uses one in a later
# layer, two folders that need each other, a circle of files in a folder, a header that declares a function of another
# layer. Used by tests/source/check-layers.sh.
use strict;
use warnings;

# The order of doc/design.md. A folder has the rank of its longest prefix in this list.
my @layers = ('arch', 'lib/base', 'lib/object', 'lib/unwind/signals', 'lib/os', 'lib/images', 'lib/unwind', 'lib/corefile', 'lib/capture', 'lib/snapshot', 'lib/recording', 'lib/crash',
    'lib/demangle', 'lib/symbolize', 'lib/report', 'lib/profile', 'lib/sampler', 'lib/monitor', 'lib/objc', 'tools');
my %rank;
@rank{@layers} = 0 .. $#layers;

sub layer {
    my ($file) = @_;
    my $name = $file;
    while ($name =~ s{/[^/]*$}{}) { return $rank{$name} if exists $rank{$name} }
    die "no layer for $file\n";
}

# The implementations of os.h count as one folder.
sub folder {
    my ($file) = @_;
    $file =~ s{/[^/]*$}{};
    $file =~ s{^(lib/os)/.*}{$1};
    return $file;
}

my ($top, @headers) = @ARGV;
my (%defined_in, %used);
while (<STDIN>) {
    my ($object, $kind, $name) = /^(\S+?):\s*(?:[0-9a-f]+)?\s+(\w)\s+(\S+)$/ or next;
    $name =~ s/^_(?=usp)//;    # Mach-O
    $name =~ /^usp/ or next;
    $object =~ s/\.o$//;
    $object =~ s{^\./}{};
    $object =~ s{/\.libs/}{/};
    # Automake's name for an object with its own flags.
    $object =~ s{^(tools)/unspool-}{$1/};
    if ($kind eq 'U' or $kind eq 'w') { $used{$object}{$name} = 1 }
    else                              { $defined_in{$name} = $object }
}

my %edges;
for my $user (keys %used) {
    for my $name (keys %{ $used{$user} }) {
        my $definer = $defined_in{$name};
        $edges{$user}{$definer} //= $name if defined $definer and $definer ne $user;
    }
}

my %between;
for my $user (sort keys %edges) {
    for my $definer (sort keys %{ $edges{$user} }) {
        print "$user uses $definer, which is in a later layer ($edges{$user}{$definer})\n" if layer($definer) > layer($user);
        $between{ folder($user) }{ folder($definer) } //= "$user uses $definer ($edges{$user}{$definer})"
          if folder($user) ne folder($definer);
    }
}
for my $one (sort keys %between) {
    for my $other (sort keys %{ $between{$one} }) {
        print "$one and $other need each other: $between{$one}{$other}; $between{$other}{$one}\n" if $one lt $other and $between{$other}{$one};
    }
}

# A header declares only functions of its own layer.
for my $header (@headers) {
    open my $in, '<', "$top/$header" or die "$header: $!\n";
    my $text = do { local $/; <$in> } // '';
    $text =~ s{/\*.*?\*/}{}gs;
    while ($text =~ /^(?!static|typedef|#)[A-Za-z_][\w *]*?\b(uspi_\w+)\(/gm) {
        my $definer = $defined_in{$1} // next;
        print "$header declares $1, which $definer defines\n" if layer($definer) != layer($header);
    }
}

# Finds circles: files of a folder that use themselves through others (Tarjan's strongly connected components).
my (%number, %low, %on, @stack, $next);
sub visit {
    my ($file) = @_;
    $number{$file} = $low{$file} = ++$next;
    push @stack, $file;
    $on{$file} = 1;
    for my $other (sort keys %{ $edges{$file} }) {
        next if folder($other) ne folder($file);
        if (not $number{$other}) {
            visit($other);
            $low{$file} = $low{$other} if $low{$other} < $low{$file};
        } elsif ($on{$other} and $number{$other} < $low{$file}) {
            $low{$file} = $number{$other};
        }
    }
    return if $low{$file} != $number{$file};
    my @circle;
    do { push @circle, pop @stack; delete $on{ $circle[-1] } } while $circle[-1] ne $file;
    print 'a circle of files: ', join(' ', sort @circle), "\n" if @circle > 1;
}
$next = 0;
visit($_) for grep { not $number{$_} } sort keys %edges;
