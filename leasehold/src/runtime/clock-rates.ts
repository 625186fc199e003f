/**
 * How much faster may one machine's monotonic clock run than another's? This is the toolkit's one bound for
 * it: every protocol that compares a duration on one machine with a duration on another takes it from here.
 *
 * A quartz alone would need almost nothing. The bound is for the time daemons: they correct an offset by making
 * the clock run faster or slower (slewing), and the kernel applies that to the monotonic clock too. With
 * their default settings the rate is off by at most
 *
 *     quartz                      0.01 %
 *     leap smear, 24 h            0.0012 %
 *     ntpd                        0.8 %    128 ms, of which the kernel corrects a sixteenth each second
 *     systemd-timesyncd           5 %      0.4 s, of which the kernel corrects an eighth each second
 *     chrony                      8.3333 % maxslewrate 83333 ppm
 *
 * Two machines may be corrected in opposite directions. For two chronys, with the quartz of each added, that is
 * (1 + 0.0834) / (1 − 0.0834) = 1.182. The bound is 1.2. A daemon that was told to slew faster than its default
 * breaks it: chrony accepts up to 10 %, which is 1.222 for two.
 */

export const CLOCK_RATE_BOUND = 1.2;
