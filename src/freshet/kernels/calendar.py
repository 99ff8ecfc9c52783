"""The proleptic Gregorian calendar by arithmetic, for years 1 to 9999.

Years are counted from March, so that the leap day is the last day of a year and months have a regular length.
"""

from freshet.kernels.jit import njit

DAYS_TO_1970 = 719468  # from 1 March of year 0
MS_PER_DAY = 86_400_000


@njit
def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@njit
def days_in_month(year, month):
    if month == 2:
        return 29 if is_leap(year) else 28
    if month == 4 or month == 6 or month == 9 or month == 11:
        return 30
    return 31


@njit
def days_from_date(year, month, day):
    """Days from 1970-01-01 to a date."""
    if month <= 2:
        year -= 1
        month += 12
    # (153 * m + 2) // 5 adds up the lengths 31, 30, 31, 30, 31 that repeat from March on
    day_of_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + day_of_year - DAYS_TO_1970


@njit
def date_from_days(days):
    """Year, month and day of a number of days from 1970-01-01."""
    days += DAYS_TO_1970
    cycle = days // 146097  # 400 years
    day_of_cycle = days - cycle * 146097
    year_of_cycle = (day_of_cycle - day_of_cycle // 1460 + day_of_cycle // 36524 - day_of_cycle // 146096) // 365
    day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle // 4 - year_of_cycle // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    year = cycle * 400 + year_of_cycle
    if month < 10:
        return year, month + 3, day
    return year + 1, month - 9, day
