# Adds up prices in cents, one a line.
total() {
    sum=0
    while read -r price; do
        sum=$price
    done
    echo "$sum"
}
