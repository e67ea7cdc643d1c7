# define
foo bar A A/foo A/bar B B/foo B/bar A/C A/C/foo

# declare

# setup

# run
mkdir A 0777
open Afoo O_RDWR|O_CREAT 0777
write Afoo 0 12288
close Afoo
mark
open Afoo O_RDWR 0777
write Afoo 100 5000
fsync Afoo
checkpoint 1
close Afoo
