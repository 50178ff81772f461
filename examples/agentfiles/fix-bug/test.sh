# Fails, and says how, as long as total.sh is wrong.
. ./total.sh
mkdir -p build
got=$(printf '100\n250\n' | total)
echo "100 and 250 are $got" >> build/test.log
if [ "$got" != 350 ]; then
    echo "100 and 250 are 350, not $got"
    exit 1
fi
echo "all is well"
