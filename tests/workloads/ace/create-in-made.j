# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
open Afoo O_RDWR|O_CREAT 0777
write Afoo 0 4096
close Afoo
mark
open Abar O_RDWR|O_CREAT 0777
write Abar 0 4096
fsync Abar
checkpoint 1
rename Abar Afoo
none
checkpoint 2
