# Finds out for Greenroom what modules do besides defining things. It runs in a separate process.
#
#     perl [OPTIONS] inspect.pl <LIST
#
# LIST has a name on each line, as %INC spells it. libgreenroom-trace.so is preloaded: it writes which
# functions of the C library were called, and this file tells it where each module begins and ends, and what
# happens in Perl itself: to the arguments, the variables, and the state that all modules share.
#
# Nothing is used here that would remain in %INC.
package Greenroom;

our $command;

# The effects of these modules cannot be seen from here: they change other modules, or how the program is
# read.
my %known = map { $_ => 1 } qw(lib.pm local/lib.pm FindBin.pm threads.pm threads/shared.pm forks.pm Coro.pm EV.pm
    diagnostics.pm sigtrap.pm encoding.pm DB.pm perl5db.pl Carp/Always.pm Term/ReadLine.pm Term/ReadKey.pm Filter/Simple.pm);

# The function leaves a mark on Perl's stack, which the end of a subroutine removes.
sub trace { $command = $_[0]; native_trace(); return }
sub does { trace("does $_[0]"); return }

# The variables. Changes to them do not reach environ, so the trace does not show them.
package Greenroom::Variables;
sub TIEHASH { return bless { @_[1 .. $#_] }, $_[0] }
sub FETCH { Greenroom::trace("reads $_[1]"); return $_[0]{ $_[1] } }
sub EXISTS { Greenroom::trace("reads $_[1]"); return exists $_[0]{ $_[1] } }
sub FIRSTKEY { Greenroom::trace('reads *'); keys %{ $_[0] }; return each %{ $_[0] } }
sub NEXTKEY { return each %{ $_[0] } }
sub SCALAR { Greenroom::trace('reads *'); return scalar %{ $_[0] } }
sub STORE { $_[0]{ $_[1] } = $_[2]; return }
sub DELETE { return delete $_[0]{ $_[1] } }
sub CLEAR { %{ $_[0] } = (); return }

# The words of the launch: notes every access.
package Greenroom::Words;
sub TIEARRAY { return bless [], $_[0] }
sub AUTOLOAD { Greenroom::does('arguments'); return our $AUTOLOAD =~ /FETCHSIZE/ ? 0 : undef }
sub DESTROY { return }

package Greenroom::Scalar;
sub TIESCALAR { return bless [ @_[ 1, 2 ] ], $_[0] }
sub FETCH { Greenroom::does($_[0][0]); return $_[0][1] }
sub STORE { Greenroom::does($_[0][0]); $_[0][1] = $_[1]; return }

package Greenroom;

my $variables;

sub state {
    my $is_unbuffered = $|;
    $| = 1;    # what was printed is seen now
    $| = $is_unbuffered;
    return join "\0", map { $_ // "\1" } $SIG{__DIE__}, $SIG{__WARN__}, $/, $\, $,, $;, $", $^W, $|, select(), "\2", @INC,
        map { PerlIO::get_layers($_), "\2" } *STDIN, *STDOUT, *STDERR;
}

sub environment { return join "\0", map { "$_=" . ($variables->{$_} // "\1") } sort keys %$variables }

# For each module in progress, what the modules that it loads have changed.
my @changed = ({});
my %begun;

sub path_of { my $path = $INC{ $_[0] }; return defined $path && !ref $path ? $path : '' }

# Adds modules that were loaded by C code, or by a `require` that cannot be replaced. What they did was attributed to
# the module that has loaded them. If that module is refused, they are inspected by themselves next.
sub add_unseen {
    for my $name (grep { !$begun{$_}++ } keys %INC) {
        trace("begin $name");
        trace("end $name\t" . path_of($name));
    }
    return;
}

sub inspect {
    my ($name) = @_;
    if (exists $INC{$name}) {
        trace("needs $name");
        return CORE::require($name);
    }
    trace("begin $name");
    $begun{$name} = 1;
    does('known') if $known{$name};
    my %before = (state => state(), environment => environment());
    push @changed, {};
    my ($result, $error);
    {
        local $@;
        eval { $result = CORE::require($name); 1 } or $error = $@ || 'failed';
    }
    my %after = (state => state(), environment => environment());
    my $within = pop @changed;
    for my $what (keys %before) {
        next if $before{$what} eq $after{$what};
        does($what) if !$within->{$what};
        $changed[-1]{$what} = 1;
    }
    add_unseen();
    trace((defined $error ? 'fails' : 'end') . " $name\t" . path_of($name));
    die $error if defined $error;
    return $result;
}

DynaLoader::boot_DynaLoader('DynaLoader') if !defined &DynaLoader::dl_load_file;
my $here = __FILE__ =~ s{/[^/]*/[^/]*\z}{}r;
my $library = DynaLoader::dl_load_file("$here/libgreenroom-trace.so", 0) or die "no libgreenroom-trace.so";
DynaLoader::dl_install_xsub('Greenroom::native_trace', DynaLoader::dl_find_symbol($library, 'greenroom_perl_trace'));

chomp(my @names = <STDIN>);
open STDIN, '<', '/dev/null';
trace("place $_") for grep { !ref && m{^/} } @INC;
$variables = tie %ENV, 'Greenroom::Variables', %ENV;
tie @ARGV, 'Greenroom::Words';
tie $0, 'Greenroom::Scalar', 'arguments', $0;
tie $^T, 'Greenroom::Scalar', 'time', $^T;

*CORE::GLOBAL::require = sub (;$) {
    my $name = @_ ? $_[0] : $_;
    return CORE::require($name) if ref \$name eq 'VSTRING' || $name =~ /^[0-9]/;
    return inspect($name);
};

# Hides this file from a module that asks who loads it: at a launch, the program is in its place.
*CORE::GLOBAL::caller = sub (;$) {
    my $left = @_ ? $_[0] : 0;
    for (my $level = 1; my @frame = CORE::caller($level); $level++) {
        next if $frame[0] eq 'Greenroom' || $left-- > 0;
        $frame[3] = '(eval)' if $frame[3] =~ /^Greenroom::/;
        return wantarray ? @_ ? @frame : @frame[0 .. 2] : $frame[0];
    }
    does('caller');
    return;
};
*CORE::GLOBAL::srand = sub (;$) { does('state'); return @_ ? CORE::srand($_[0]) : CORE::srand() };

# What these do when a program imports from them does not matter to what is loaded next.
my %plain = map { $_ => 1 } qw(strict.pm warnings.pm utf8.pm feature.pm integer.pm bytes.pm vars.pm overload.pm
    Carp.pm POSIX.pm Getopt/Long.pm List/Util.pm Scalar/Util.pm Time/HiRes.pm JSON/PP.pm Cwd.pm Socket.pm);

sub imports_plainly {
    my ($name) = @_;
    my $package = $name =~ s{/}{::}gr =~ s/\.pm\z//r;
    return 1 if $plain{$name};
    # A version in the program's line calls VERSION, and each name in EXPORT_FAIL that is imported calls export_fail.
    my ($import, $version) = map { UNIVERSAL::can($package, $_) } qw(import VERSION);
    return 0 if $version && $version != \&UNIVERSAL::VERSION || @{"${package}::EXPORT_FAIL"};
    return !$import || (defined &Exporter::import && $import == \&Exporter::import);
}

my $may_differ;
for my $name (grep { /\A[^!]/ } @names) {
    if ($may_differ) {
        trace("begin $name");
        does('order');
        trace("end $name\t");
        next;
    }
    eval { inspect($name) } if !exists $INC{$name};
    $may_differ = !imports_plainly($name);
}
trace('done');
